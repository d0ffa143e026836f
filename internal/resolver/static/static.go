// SPDX-License-Identifier: Apache-2.0

// Package static has code for resolvers whose answer never changes.
package static

import "google.golang.org/grpc/resolver"

// Resolver is a resolver that has passed its only answer to the channel already.
type Resolver struct{}

// ResolveNow does nothing.
func (Resolver) ResolveNow(resolver.ResolveNowOptions) {}

// Close does nothing.
func (Resolver) Close() {}

// Resolve passes the address to the channel. It ignores an error, as resolving again would not
// change the answer.
func Resolve(cc resolver.ClientConn, address resolver.Address) Resolver {
	_ = cc.UpdateState(State(address))
	return Resolver{}
}

// State returns a state in which each address is an endpoint of its own.
func State(addresses ...resolver.Address) resolver.State {
	s := resolver.State{
		Addresses: addresses,
		Endpoints: make([]resolver.Endpoint, len(addresses)),
	}
	for i := range addresses {
		// The endpoints share the array of addresses. Each slice has capacity 1, so that an append
		// does not overwrite the next address.
		s.Endpoints[i].Addresses = addresses[i : i+1 : i+1]
	}
	return s
}
