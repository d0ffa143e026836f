// SPDX-License-Identifier: Apache-2.0

// Package state is how a resolver tells package grpclb the addresses of load balancers.
package state

import "google.golang.org/grpc/resolver"

type key struct{}

// State is what grpclb wants to know of a resolver, beside the addresses of servers.
type State struct {
	// BalancerAddresses are those of the load balancers. The ServerName of each is the
	// name that the balancer is verified by.
	BalancerAddresses []resolver.Address
}

// Set returns a copy of state that carries s, which must not be changed any more.
func Set(state resolver.State, s *State) resolver.State {
	state.Attributes = state.Attributes.WithValue(key{}, s)
	return state
}

// Get returns what Set put into state, which must not be changed; nil if there is nothing.
func Get(state resolver.State) *State {
	s, _ := state.Attributes.Value(key{}).(*State)
	return s
}
