// SPDX-License-Identifier: Apache-2.0

// Package state lets a resolver pass the addresses of load balancers to package grpclb.
package state

import "google.golang.org/grpc/resolver"

type key struct{}

// State is what a resolver passes to grpclb in addition to the addresses of servers.
type State struct {
	// BalancerAddresses are the addresses of the load balancers. The ServerName of each is the name
	// by which grpclb verifies that load balancer.
	BalancerAddresses []resolver.Address
}

// Set returns a copy of state that carries s, which must not be changed any more.
func Set(state resolver.State, s *State) resolver.State {
	state.Attributes = state.Attributes.WithValue(key{}, s)
	return state
}

// Get returns the State that Set put into state, or nil if there is none. It must not be changed.
func Get(state resolver.State) *State {
	s, _ := state.Attributes.Value(key{}).(*State)
	return s
}
