// SPDX-License-Identifier: Apache-2.0

// Package roundrobin has the round_robin policy (gRFC A61): it connects to every endpoint, and
// sends RPCs to the endpoints that are ready in turn. Importing package grpc registers it.
package roundrobin

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	internalpickfirst "google.golang.org/grpc/internal/balancer/pickfirst"
)

// Name is the policy's name.
const Name = "round_robin"

func init() { balancer.Register(builder{}) }

type builder struct{}

// Name returns "round_robin".
func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

// Build makes a balancer.
func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	child := internalpickfirst.Builder{}.Build
	return &roundRobin{endpointsharding.NewBalancer(cc, opts, child, endpointsharding.Options{})}
}

// roundRobin is an endpointsharding balancer, whose own picker takes turns already. roundRobin only
// turns on health listening of its children.
type roundRobin struct{ balancer.Balancer }

// OwnsSubConns implements subconns.Owner.
func (*roundRobin) OwnsSubConns() {}

// UpdateClientConnState implements balancer.Balancer.
func (b *roundRobin) UpdateClientConnState(s balancer.ClientConnState) error {
	s.ResolverState = pickfirst.EnableHealthListener(s.ResolverState)
	s.BalancerConfig = nil
	return b.Balancer.UpdateClientConnState(s)
}
