// SPDX-License-Identifier: Apache-2.0

// Package static holds what resolvers share whose answer never changes.
package static

import "google.golang.org/grpc/resolver"

// Resolver is a resolver that has told its answer already, and has nothing to add.
type Resolver struct{}

// ResolveNow does nothing.
func (Resolver) ResolveNow(resolver.ResolveNowOptions) {}

// Close does nothing.
func (Resolver) Close() {}

// Resolve gives the channel its only address. What the channel makes of it cannot
// change by asking again, so an error is not acted on.
func Resolve(cc resolver.ClientConn, address resolver.Address) Resolver {
	_ = cc.UpdateState(State(address))
	return Resolver{}
}

// State returns the state in which each address is an endpoint of its own.
func State(addresses ...resolver.Address) resolver.State {
	s := resolver.State{
		Addresses: addresses,
		Endpoints: make([]resolver.Endpoint, len(addresses)),
	}
	for i := range addresses {
		// The list of each endpoint is a part of the one list, cut so that an append
		// cannot reach into the next.
		s.Endpoints[i].Addresses = addresses[i : i+1 : i+1]
	}
	return s
}
