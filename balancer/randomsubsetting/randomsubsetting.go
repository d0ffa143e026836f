// SPDX-License-Identifier: Apache-2.0

// Package randomsubsetting has a policy that gives its child policy a random subset of the
// endpoints (gRFC A68), so that each of many clients connects to a few of many servers. Importing
// the package registers the policy.
//
// All of this package may change or be removed in a later release.
package randomsubsetting

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "random_subsetting_experimental"

func init() {
	balancer.Register(builder{})
}

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig

	size  int // of the subset; above zero
	child *gracefulswitch.Config
}

type builder struct{}

func (builder) Name() string { return Name }

// ParseConfig returns a *config.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var raw struct {
		SubsetSize  uint32          `json:"subsetSize"`
		ChildPolicy json.RawMessage `json:"childPolicy"`
	}
	if err := json.Unmarshal(js, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if raw.SubsetSize == 0 {
		return nil, errors.New(Name + ": subsetSize must be set, above 0")
	}
	if len(raw.ChildPolicy) == 0 {
		return nil, errors.New(Name + ": childPolicy must be set")
	}
	child, err := gracefulswitch.ParseConfig(raw.ChildPolicy)
	if err != nil {
		return nil, fmt.Errorf("%s: childPolicy: %w", Name, err)
	}
	return &config{size: int(min(raw.SubsetSize, 1<<30)), child: child}, nil
}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return &subsetting{Balancer: gracefulswitch.New(cc, opts), seed: maphash.MakeSeed()}
}

// subsetting is the balancer. It chooses the subset; the embedded balancer, which has the child
// policy, does everything else.
type subsetting struct {
	*gracefulswitch.Balancer
	seed maphash.Seed
}

// UpdateClientConnState passes the state to the child with a subset of the endpoints.
func (b *subsetting) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	s.BalancerConfig = c.child
	if some := b.choose(s.ResolverState.Endpoints, c.size); len(some) < len(s.ResolverState.Endpoints) {
		s.ResolverState.Endpoints = some
		s.ResolverState.Addresses = nil
		for _, e := range some {
			s.ResolverState.Addresses = append(s.ResolverState.Addresses, e.Addresses...)
		}
	}
	return b.Balancer.UpdateClientConnState(s)
}

// choose returns as many endpoints as size says, those with the smallest hashes. So an endpoint
// that is added or removed changes at most one of them (rendezvous hashing).
func (b *subsetting) choose(endpoints []resolver.Endpoint, size int) []resolver.Endpoint {
	if len(endpoints) <= size {
		return endpoints
	}
	type ranked struct {
		hash uint64
		resolver.Endpoint
	}
	all := make([]ranked, 0, len(endpoints))
	for _, e := range endpoints {
		if len(e.Addresses) > 0 {
			all = append(all, ranked{maphash.String(b.seed, e.Addresses[0].Addr), e})
		}
	}
	slices.SortStableFunc(all, func(x, y ranked) int { return cmp.Compare(x.hash, y.hash) })
	chosen := make([]resolver.Endpoint, 0, size)
	for _, e := range all[:min(size, len(all))] {
		chosen = append(chosen, e.Endpoint)
	}
	return chosen
}
