// SPDX-License-Identifier: Apache-2.0

// Package passthrough holds the resolver whose only address is the endpoint as it stands.
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

// Build gives the channel its address before it returns. An empty endpoint means
// something to the channel's own dialer only.
func (Builder) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	endpoint := target.Endpoint()
	if endpoint == "" && opts.Dialer == nil {
		return nil, errors.New("passthrough: received empty target in Build()")
	}
	return static.Resolve(cc, resolver.Address{Addr: endpoint}), nil
}
