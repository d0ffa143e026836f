// SPDX-License-Identifier: Apache-2.0

// Package petiole holds what the policies right above pick_first have in common (gRFC
// A61): a pick_first for each endpoint, with client-side health checking.
package petiole

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/resolver"
)

// New returns an endpointsharding balancer whose children are pick_first.
func New(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return endpointsharding.NewBalancer(cc, opts, balancer.Get(pickfirst.Name).Build, endpointsharding.Options{})
}

// Update gives lb, which New made, a state of its parent, whose configuration is none of
// the children's.
func Update(lb balancer.Balancer, s balancer.ClientConnState) error {
	bad := resolver.ValidateEndpoints(s.ResolverState.Endpoints)
	s.BalancerConfig = nil
	s.ResolverState = pickfirst.EnableHealthListener(s.ResolverState)
	err := lb.UpdateClientConnState(s)
	if bad != nil {
		return balancer.ErrBadResolverState
	}
	return err
}
