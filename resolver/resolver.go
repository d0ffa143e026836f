// SPDX-License-Identifier: Apache-2.0

// Package resolver is how a channel turns its target into addresses: a Builder is
// registered for a scheme, and its Resolver tells the channel what it finds (naming.md).
//
// All of it may change or go in a later release.
package resolver

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/serviceconfig"
)

// Builder makes the resolvers of one scheme.
type Builder interface {
	// Build makes the resolver of a channel and may call cc before it returns. An
	// error fails the channel.
	Build(target Target, cc ClientConn, opts BuildOptions) (Resolver, error)
	// Scheme is the scheme of the targets that the builder is for: lower case, as
	// RFC 3986 section 3.1 has it.
	Scheme() string
}

// Resolver watches a target for one channel.
type Resolver interface {
	// ResolveNow is a hint that new addresses are wanted. It may come from several
	// goroutines, and must not wait for the answer.
	ResolveNow(ResolveNowOptions)
	// Close ends the resolver. It must not call the ClientConn any more afterwards.
	Close()
}

// ResolveNowOptions says more about a ResolveNow; nothing so far.
type ResolveNowOptions struct{}

// AuthorityOverrider is a Builder that knows better than the channel which :authority
// a target has.
type AuthorityOverrider interface {
	// OverrideAuthority returns the authority for the target. It must come from the
	// target alone, never from the network: TLS checks the server against it. It
	// should be percent-encoded where RFC 3986 demands it.
	OverrideAuthority(Target) string
}

// ClientConn is the channel as its resolver sees it. The channel implements it; a test
// or a wrapper embeds it.
type ClientConn interface {
	// UpdateState gives the channel everything that is known now. An error tells
	// that the channel could not use it: the resolver should try again later, with
	// back-off.
	UpdateState(State) error
	// ReportError tells the channel that resolving failed. The channel goes on with
	// the last good state if there was one, and will not call ResolveNow for it: the
	// resolver tries again by itself.
	ReportError(error)
	// NewAddress gives the channel a new list of addresses.
	//
	// Deprecated: use UpdateState.
	NewAddress(addresses []Address)
	// ParseServiceConfig turns a service config's JSON into what State wants.
	ParseServiceConfig(serviceConfigJSON string) *serviceconfig.ParseResult
}

// BuildOptions is what a channel tells the builder of its resolver.
type BuildOptions struct {
	// DisableServiceConfig says that the channel will not use a service config, so
	// that there is no need to fetch one.
	DisableServiceConfig bool
	// DialCreds are the channel's transport credentials, for a resolver that makes
	// connections of its own. May be nil.
	DialCreds credentials.TransportCredentials
	// CredsBundle is the channel's credentials bundle. May be nil.
	CredsBundle credentials.Bundle
	// Dialer is the channel's own dialer. Nil means the default one.
	Dialer func(context.Context, string) (net.Conn, error)
	// Authority is the channel's :authority.
	Authority string
	// MetricsRecorder receives the metrics that the resolver records.
	MetricsRecorder stats.MetricsRecorder
}

// State is what a resolver knows of its target at one time.
type State struct {
	// Addresses are the addresses of the target, each an endpoint of its own. Used
	// only where Endpoints is empty.
	Addresses []Address
	// Endpoints are the servers behind the target, each with one address or more. A
	// resolver that sets them should set Addresses as well, for balancers that read
	// nothing else.
	Endpoints []Endpoint
	// ServiceConfig is what ParseServiceConfig returned. Nil means that the target
	// has none, and then the channel's default applies.
	ServiceConfig *serviceconfig.ParseResult
	// Attributes are for the balancer.
	Attributes *attributes.Attributes
}

// Target is what a user dials, parsed: scheme://authority/endpoint.
type Target struct {
	// URL is the target parsed by net/url; the default scheme was put in front of it
	// when it had none.
	URL url.URL
}

// Endpoint returns the target's path, or its opaque part where the path is empty,
// without a leading slash: "host:port" for dns:///host:port and for dns:host:port.
func (t Target) Endpoint() string {
	return strings.TrimPrefix(cmp.Or(t.URL.Path, t.URL.Opaque), "/")
}

// String returns the target as scheme://authority/endpoint.
func (t Target) String() string {
	return t.URL.Scheme + "://" + t.URL.Host + "/" + t.Endpoint()
}

// ValidateEndpoints returns an error unless the list holds an endpoint that has an
// address. A balancer that gives each endpoint a child of its own calls it before it
// updates any of them (gRFC A61).
func ValidateEndpoints(endpoints []Endpoint) error {
	if len(endpoints) == 0 {
		return errors.New("endpoints list is empty")
	}
	for _, e := range endpoints {
		if len(e.Addresses) > 0 {
			return nil
		}
	}
	return errors.New("endpoints list contains no addresses")
}
