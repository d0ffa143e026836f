// SPDX-License-Identifier: Apache-2.0

// Package petiole has what petiole policies share, the policies right above pick_first (gRFC A61):
// a pick_first for each endpoint, with client-side health checking.
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

// Update passes a state to lb, which New made. It removes the configuration, which is that of lb's
// parent and not of its children, and turns health listening on. It returns ErrBadResolverState if
// the endpoints are not valid.
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
