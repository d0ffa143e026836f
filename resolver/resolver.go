// SPDX-License-Identifier: Apache-2.0

// Package resolver has the interfaces by which a channel turns its target into addresses
// (naming.md). A program registers a Builder for a scheme. The Builder's Resolver passes what it
// finds to the channel.
//
// All of this package may change or be removed in a later release.
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
	// Build makes the resolver of a channel. It may call cc before it returns. An error counts as a
	// failure to resolve the target. Build must not wait: until it returns, the channel's RPCs, whatever
	// their deadlines, its Connect and its Close wait too, and so it must not call them.
	Build(target Target, cc ClientConn, opts BuildOptions) (Resolver, error)
	// Scheme returns the scheme of the targets that the builder is for. It must be in lower case,
	// as RFC 3986, section 3.1, says.
	Scheme() string
}

// Resolver watches a target for one channel.
type Resolver interface {
	// ResolveNow asks the resolver to resolve again. It is only a hint. It may be called
	// concurrently with other code, and must not wait for the result. It is not called after Close. Close is called
	// when it has returned, or after a second.
	ResolveNow(ResolveNowOptions)
	// Close ends the resolver, which must not call the ClientConn after that.
	Close()
}

// ResolveNowOptions has the options of ResolveNow. There are none so far.
type ResolveNowOptions struct{}

// AuthorityOverrider is a Builder that decides which :authority a target has, instead of the
// channel.
type AuthorityOverrider interface {
	// OverrideAuthority returns the authority for the target. It must depend on the target alone,
	// and never on data from the network, as TLS verifies that the server has this name. It should
	// be percent-encoded where RFC 3986 requires that.
	OverrideAuthority(Target) string
}

// ClientConn is the channel as its resolver sees it. The channel implements it. Tests and types
// that wrap a ClientConn should embed it.
type ClientConn interface {
	// UpdateState passes the complete current state to the channel. An error means that the channel
	// could not use it: the resolver should try again later, with back-off.
	UpdateState(State) error
	// ReportError tells the channel that resolving failed. The channel goes on with the last good
	// state, if there was one. It does not call ResolveNow because of the error: the resolver must
	// try again by itself.
	ReportError(error)
	// NewAddress gives the channel a new list of addresses.
	//
	// Deprecated: use UpdateState.
	NewAddress(addresses []Address)
	// ParseServiceConfig parses a service config's JSON. The result is for State.ServiceConfig.
	ParseServiceConfig(serviceConfigJSON string) *serviceconfig.ParseResult
}

// BuildOptions is what a channel tells its resolver's Builder about itself.
type BuildOptions struct {
	// DisableServiceConfig says that the channel ignores the resolver's service config, so the
	// resolver need not fetch one.
	DisableServiceConfig bool
	// DialCreds are the channel's transport credentials, for a resolver that makes
	// connections of its own. Nil if the channel has a bundle.
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

// State is what a resolver knows of its target at one moment.
type State struct {
	// Addresses are the addresses of the target. If Endpoints is nil, the channel makes one
	// endpoint of each address.
	Addresses []Address
	// Endpoints are the servers behind the target, each with one or more addresses. A resolver that
	// sets Endpoints should also set Addresses, for balancers that read only those.
	Endpoints []Endpoint
	// ServiceConfig is what ParseServiceConfig returned. Nil means that the target has none: the
	// channel then keeps the service config in use, or else uses its default.
	ServiceConfig *serviceconfig.ParseResult
	// Attributes are for the balancer.
	Attributes *attributes.Attributes
}

// Target is the parsed target of a channel, scheme://authority/endpoint.
type Target struct {
	// URL is the target, parsed by net/url. If the target had no scheme, the default scheme was put
	// in front of it.
	URL url.URL
}

// Endpoint returns the target's path, or its opaque part if the path is empty, without a leading
// slash. It is "host:port" for dns:///host:port and for dns:host:port.
func (t Target) Endpoint() string {
	return strings.TrimPrefix(cmp.Or(t.URL.Path, t.URL.Opaque), "/")
}

// String returns the target as scheme://authority/endpoint.
func (t Target) String() string {
	return t.URL.Scheme + "://" + t.URL.Host + "/" + t.Endpoint()
}

// ValidateEndpoints returns an error unless at least one endpoint has an address. A balancer with a
// child for each endpoint should call it before it updates the children (gRFC A61).
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
