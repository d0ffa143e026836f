// SPDX-License-Identifier: Apache-2.0

// Package leastrequest has a policy that spreads RPCs by how many each endpoint has in progress
// (gRFC A48): of a few endpoints chosen at random, the one with the fewest gets the RPC. Importing
// the package registers the policy.
//
// All of this package may change or be removed in a later release.
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

// LBConfig is the policy's configuration. In JSON it has one field, "choiceCount".
type LBConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// ChoiceCount is how many endpoints the policy compares for each RPC. The minimum and default
	// is 2. Values above 10 count as 10.
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

// leastRequest is the balancer. The embedded endpointsharding balancer has a child for each
// endpoint, and the methods that leastRequest has not.
type leastRequest struct {
	balancer.Balancer
	cc balancer.ClientConn

	// mu is taken in reports of the embedded balancer, so it must not be held in calls of it.
	mu      sync.Mutex
	choices int
	servers *resolver.EndpointMap[*server]
}

// OwnsSubConns implements subconns.Owner.
func (*leastRequest) OwnsSubConns() {}

// children is the ClientConn of the embedded balancer.
type children struct {
	balancer.ClientConn
	parent *leastRequest
}

// UpdateState implements balancer.ClientConn.
func (c *children) UpdateState(s balancer.State) { c.parent.report(s) }

// UpdateClientConnState passes the endpoints to the embedded balancer. Endpoints that stay keep
// their counts.
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

// report passes a state of the embedded balancer to the channel. If it is Ready, report replaces
// the picker.
func (b *leastRequest) report(s balancer.State) {
	b.forget(endpointsharding.ChildStatesFromPicker(s.Picker))
	if s.ConnectivityState == connectivity.Ready {
		s.Picker = b.newPicker(endpointsharding.ChildStatesFromPicker(s.Picker))
	}
	b.cc.UpdateState(s)
}

// forget resets the counts of endpoints that are not ready, so that they begin at zero when they
// are ready again.
func (b *leastRequest) forget(states []endpointsharding.ChildState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range states {
		if s.State.ConnectivityState == connectivity.Ready {
			continue
		}
		if known, ok := b.servers.Get(s.Endpoint); ok && known.active.Load() != 0 {
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
		if !ok { // the endpoint is not in the last update: a report without it will come
			known = newServer()
		}
		p.candidates = append(p.candidates, candidate{known, s.State.Picker})
	}
	return p
}
