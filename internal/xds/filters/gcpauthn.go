// SPDX-License-Identifier: Apache-2.0

// Package filters has the HTTP filters of clients that need to know more of an RPC than its
// metadata: the cluster that it goes to. Those that don't are in package httpfilter, which they
// plug into.
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

// GCPAuthn has RPCs carry an identity token for the audience that their cluster names, which
// Google Cloud's metadata server makes (A83).
type GCPAuthn struct{}

// GCPAuthnConfig is that of the filter.
type GCPAuthnConfig struct {
	// CacheSize is for how many audiences credentials are kept.
	CacheSize int
}

// defaultCacheSize is that of A83.
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

// ParseOverride implements Kind. What it returns is not used: there are no overrides.
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

// authn is the filter of one list.
type authn struct {
	name   string
	tokens *tokens
}

// Begin implements rpcconfig.Interceptor. The token is added where the connection is known.
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

// audience is "" where there is nothing to do.
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

// tokens keeps the credentials of the audiences that were used last.
type tokens struct {
	make func(context.Context, string) (credentials.PerRPCCredentials, error)

	mu     sync.Mutex
	size   int
	recent *list.List // of audience; the last used comes first
	byName map[string]*list.Element
}

// token is an element of tokens.
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
	// They ask nobody before they are asked, and hold nothing that has to end.
	creds, err := t.make(context.Background(), audience)
	if err != nil {
		return nil, err
	}
	t.byName[audience] = t.recent.PushFront(&token{audience, creds})
	t.trimLocked()
	return creds, nil
}
