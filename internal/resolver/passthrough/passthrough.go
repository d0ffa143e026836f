// SPDX-License-Identifier: Apache-2.0

// Package passthrough has the resolver whose only address is the target's endpoint, unchanged.
package passthrough

import (
	"errors"

	"google.golang.org/grpc/internal/resolver/scheme"
	"google.golang.org/grpc/internal/resolver/static"
	"google.golang.org/grpc/resolver"
)

// Builder makes passthrough resolvers.
type Builder struct{}

// Scheme returns "passthrough".
func (Builder) Scheme() string { return scheme.Passthrough }

// Build passes the address to the channel before it returns. It fails if the endpoint is empty,
// unless the channel has its own dialer, which may accept that.
func (Builder) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	endpoint := target.Endpoint()
	if endpoint == "" && opts.Dialer == nil {
		return nil, errors.New("passthrough: received empty target in Build()")
	}
	return static.Resolve(cc, resolver.Address{Addr: endpoint}), nil
}
