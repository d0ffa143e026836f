// SPDX-License-Identifier: Apache-2.0

// Package leastrequest spreads RPCs over the endpoints by how many each has in progress
// (gRFC A48): of a few endpoints chosen at random, the one with the fewest gets the RPC.
// Importing the package registers the policy.
//
// All of it may change or go in a later release.
package leastrequest

import (
	"encoding/json"
	"fmt"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/petiole"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "least_request_experimental"

const (
	defaultChoices = 2
	maxChoices     = 10
)

func init() {
	balancer.Register(builder{})
}

// LBConfig is the policy's configuration. In JSON its field is "choiceCount".
type LBConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// ChoiceCount is how many endpoints are looked at for each RPC: 2 at least, which
	// is the default. What is above 10 counts as 10.
	ChoiceCount uint32 `json:"choiceCount,omitempty"`
}

type builder struct{}

func (builder) Name() string { return Name }

// ParseConfig returns a *LBConfig.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	config := &LBConfig{ChoiceCount: defaultChoices}
	if err := json.Unmarshal(js, config); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if config.ChoiceCount < 2 {
		return nil, fmt.Errorf("%s: choiceCount is %d, must be 2 at least", Name, config.ChoiceCount)
	}
	config.ChoiceCount = min(config.ChoiceCount, maxChoices)
	return config, nil
}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	b := &leastRequest{
		cc:      cc,
		choices: defaultChoices,
		servers: resolver.NewEndpointMap[*server](),
	}
	b.Balancer = petiole.New(&children{ClientConn: cc, parent: b}, opts)
	return b
}

// leastRequest is the balancer. What it doesn't do itself, the one for all endpoints
// does, which is embedded.
type leastRequest struct {
	balancer.Balancer
	cc balancer.ClientConn

	// mu is taken during reports of the embedded balancer, so it is not held in calls
	// to it.
	mu      sync.Mutex
	choices int
	servers *resolver.EndpointMap[*server]
}

// OwnsSubConns implements subconns.Owner.
func (*leastRequest) OwnsSubConns() {}

// children is where the balancer of the endpoints reports to.
type children struct {
	balancer.ClientConn
	parent *leastRequest
}

// UpdateState implements balancer.ClientConn.
func (c *children) UpdateState(s balancer.State) { c.parent.report(s) }

// UpdateClientConnState passes the endpoints on. Those that stay keep their counts.
func (b *leastRequest) UpdateClientConnState(s balancer.ClientConnState) error {
	choices := defaultChoices
	switch config := s.BalancerConfig.(type) {
	case nil:
	case *LBConfig:
		choices = int(config.ChoiceCount)
	default:
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, config)
	}
	b.adopt(s.ResolverState.Endpoints, choices)
	return petiole.Update(b.Balancer, s)
}

func (b *leastRequest) adopt(endpoints []resolver.Endpoint, choices int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.choices = choices
	servers := resolver.NewEndpointMap[*server]()
	for _, e := range endpoints {
		known, ok := b.servers.Get(e)
		if !ok {
			known = newServer()
		}
		servers.Set(e, known)
	}
	b.servers = servers
}

// report replaces the picker of endpoints that are ready by our own.
func (b *leastRequest) report(s balancer.State) {
	b.forget(endpointsharding.ChildStatesFromPicker(s.Picker))
	if s.ConnectivityState == connectivity.Ready {
		s.Picker = b.newPicker(endpointsharding.ChildStatesFromPicker(s.Picker))
	}
	b.cc.UpdateState(s)
}

// forget has endpoints that are not ready begin anew once they are again.
func (b *leastRequest) forget(states []endpointsharding.ChildState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range states {
		if _, ok := b.servers.Get(s.Endpoint); ok && s.State.ConnectivityState != connectivity.Ready {
			b.servers.Set(s.Endpoint, newServer())
		}
	}
}

func (b *leastRequest) newPicker(states []endpointsharding.ChildState) balancer.Picker {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &picker{choices: b.choices}
	for _, s := range states {
		if s.State.ConnectivityState != connectivity.Ready {
			continue
		}
		known, ok := b.servers.Get(s.Endpoint)
		if !ok { // an endpoint that is about to go
			known = newServer()
		}
		p.candidates = append(p.candidates, candidate{known, s.State.Picker})
	}
	return p
}
