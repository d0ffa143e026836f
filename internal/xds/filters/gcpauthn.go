// SPDX-License-Identifier: Apache-2.0

// Package filters has the HTTP filters of clients that need more than an RPC's metadata, such
// as the cluster that the RPC goes to. They implement the interfaces of package httpfilter,
// which has the other filters.
package filters

import (
	"container/list"
	"context"
	"errors"
	"math"
	"sync"

	gcpauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/gcp_authn/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/google"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/status"
)

// GCPAuthn adds an identity token to RPCs. The token is for the audience that the RPC's cluster
// names, and Google Cloud's metadata server issues it (A83).
type GCPAuthn struct{}

// GCPAuthnConfig is the configuration of the filter.
type GCPAuthnConfig struct {
	// CacheSize is the number of audiences whose credentials are kept.
	CacheSize int
}

// defaultCacheSize is the default of A83.
const defaultCacheSize = 10

// Types implements Kind.
func (GCPAuthn) Types() []string {
	return []string{"envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig"}
}

// Sides implements Kind.
func (GCPAuthn) Sides() httpfilter.Side { return httpfilter.Client }

// Terminal implements Kind.
func (GCPAuthn) Terminal() bool { return false }

// Parse implements Kind. The Config is a *GCPAuthnConfig.
func (GCPAuthn) Parse(m httpfilter.Message) (httpfilter.Config, error) {
	var in gcpauthnv3.GcpAuthnFilterConfig
	if err := m.Unmarshal(&in); err != nil {
		return nil, err
	}
	out := &GCPAuthnConfig{CacheSize: defaultCacheSize}
	if size := in.GetCacheConfig().GetCacheSize(); size != nil {
		if size.GetValue() == 0 {
			return nil, errors.New("cache_config.cache_size: 0")
		}
		out.CacheSize = int(min(size.GetValue(), math.MaxInt32))
	}
	return out, nil
}

// ParseOverride implements Kind. Its result is not used, because the filter has no overrides.
func (k GCPAuthn) ParseOverride(m httpfilter.Message) (httpfilter.Config, error) { return k.Parse(m) }

// Client implements ClientKind.
func (GCPAuthn) Client(i httpfilter.Instance) rpcconfig.Interceptor {
	c, ok := i.Config.(*GCPAuthnConfig)
	if !ok {
		return nil
	}
	tokens := httpfilter.Kept(i.Memory, i.Name, func() *tokens { return newTokens(google.NewServiceAccountIdentityCredentials) })
	tokens.resize(c.CacheSize)
	return &authn{name: i.Name, tokens: tokens}
}

// authn is the filter of one list of filters.
type authn struct {
	name   string
	tokens *tokens
}

// Begin implements rpcconfig.Interceptor. The token itself is added once the RPC has a
// connection.
func (a *authn) Begin(ctx context.Context, _ rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	audience, err := a.audience(ctx)
	if err != nil {
		return nil, err
	}
	if audience == "" {
		return next(ctx)
	}
	creds, err := a.tokens.of(audience)
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "gcp_authn: %v", err)
	}
	return next(rpcconfig.WithCredentials(ctx, creds))
}

// audience returns the audience for an RPC, or "" if the RPC needs no token.
func (a *authn) audience(ctx context.Context) (string, error) {
	rpc := call.From(ctx)
	if rpc == nil || rpc.Cluster == "" { // a cluster specifier plugin chooses
		return "", nil
	}
	if rpc.Resource == nil {
		return "", status.Errorf(codes.Unavailable, "gcp_authn: cluster %q is not available", rpc.Cluster)
	}
	switch v := rpc.Resource.Metadata[a.name].(type) {
	case nil:
		return "", nil
	case resource.Audience:
		return string(v), nil
	default:
		return "", status.Errorf(codes.Unavailable, "gcp_authn: the metadata of cluster %q has no audience under %q but a %T", rpc.Cluster, a.name, v)
	}
}

// tokens keeps the credentials for the audiences that were used last.
type tokens struct {
	make func(context.Context, string) (credentials.PerRPCCredentials, error)

	mu     sync.Mutex
	size   int
	recent *list.List // of *token; the one used last comes first
	byName map[string]*list.Element
}

// token is an element of tokens.recent.
type token struct {
	audience string
	creds    credentials.PerRPCCredentials
}

func newTokens(make func(context.Context, string) (credentials.PerRPCCredentials, error)) *tokens {
	return &tokens{make: make, size: 1, recent: list.New(), byName: map[string]*list.Element{}}
}

func (t *tokens) resize(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size = n
	t.trimLocked()
}

func (t *tokens) trimLocked() {
	for t.recent.Len() > t.size {
		last := t.recent.Back()
		delete(t.byName, t.recent.Remove(last).(*token).audience)
	}
}

func (t *tokens) of(audience string) (credentials.PerRPCCredentials, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.byName[audience]; ok {
		t.recent.MoveToFront(e)
		return e.Value.(*token).creds, nil
	}
	// The credentials request a token only when one is needed, and hold nothing that must be
	// closed.
	creds, err := t.make(context.Background(), audience)
	if err != nil {
		return nil, err
	}
	t.byName[audience] = t.recent.PushFront(&token{audience, creds})
	t.trimLocked()
	return creds, nil
}
