// SPDX-License-Identifier: Apache-2.0

// Package weightedroundrobin spreads RPCs over the endpoints by what load these report
// (gRFC A58): the more queries a second a server does for the utilization it has, the
// more it gets. Importing the package registers the policy.
//
// All of it may change or go in a later release.
package weightedroundrobin

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/weightedtarget"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/petiole"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

func init() {
	balancer.Register(builder{})
}

type builder struct{}

func (builder) Name() string { return Name }

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	b := &weightedRoundRobin{
		cc:        cc,
		target:    opts.Target.String(),
		endpoints: resolver.NewEndpointMap[*endpoint](),
	}
	b.Balancer = petiole.New(&children{ClientConn: cc, parent: b}, opts)
	return b
}

// ParseConfig returns a *config. The error of a negative errorUtilizationPenalty is that
// of gRFC A58.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	raw := configJSON{
		OOBReportingPeriod:      iserviceconfig.Duration(10 * time.Second),
		BlackoutPeriod:          iserviceconfig.Duration(10 * time.Second),
		WeightExpirationPeriod:  iserviceconfig.Duration(3 * time.Minute),
		WeightUpdatePeriod:      iserviceconfig.Duration(time.Second),
		ErrorUtilizationPenalty: 1,
	}
	if err := json.Unmarshal(js, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if raw.ErrorUtilizationPenalty < 0 {
		return nil, fmt.Errorf("%s: errorUtilizationPenalty is %v, below zero", Name, raw.ErrorUtilizationPenalty)
	}
	return &config{
		outOfBand:       raw.EnableOOBLoadReport,
		outOfBandPeriod: time.Duration(raw.OOBReportingPeriod),
		blackout:        time.Duration(raw.BlackoutPeriod),
		expiration:      time.Duration(raw.WeightExpirationPeriod),
		updatePeriod:    max(time.Duration(raw.WeightUpdatePeriod), leastUpdatePeriod),
		penalty:         raw.ErrorUtilizationPenalty,
	}, nil
}

// weightedRoundRobin is the balancer. What it doesn't do itself, the one for all
// endpoints does, which is embedded.
type weightedRoundRobin struct {
	balancer.Balancer

	// Immutable.
	cc     balancer.ClientConn
	target string

	// mu is taken during reports of the embedded balancer, so it is not held in calls
	// to it.
	mu        sync.Mutex
	closed    bool
	config    *config
	meter     meter
	endpoints *resolver.EndpointMap[*endpoint]
	byAddress map[string]*endpoint
	picker    *picker // nil while nothing is ready
}

// UpdateClientConnState passes the endpoints on. Those that stay keep their weights.
func (b *weightedRoundRobin) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	gone := b.adopt(s.ResolverState, c)
	err := petiole.Update(b.Balancer, s)
	for _, e := range gone {
		e.close()
	}
	return err
}

// adopt makes endpoints for those that are new, and returns those that are gone.
func (b *weightedRoundRobin) adopt(s resolver.State, c *config) (gone []*endpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config = c
	b.meter = meter{
		recorder: b.cc.MetricsRecorder(),
		labels:   []string{b.target, weightedtarget.LocalityFromResolverState(s), backendService(s)},
	}
	old := b.endpoints
	b.endpoints = resolver.NewEndpointMap[*endpoint]()
	b.byAddress = make(map[string]*endpoint)
	for _, resolved := range s.Endpoints {
		e, known := old.Get(resolved)
		if known {
			e.reconfigure(c)
		} else if e, known = b.endpoints.Get(resolved); !known {
			e = newEndpoint(c)
		}
		b.endpoints.Set(resolved, e)
		for _, a := range resolved.Addresses {
			b.byAddress[a.Addr] = e
		}
	}
	for resolved, e := range old.All() {
		if _, stays := b.endpoints.Get(resolved); !stays {
			gone = append(gone, e)
		}
	}
	return gone
}

// Close ends the updates of weights and the reports.
func (b *weightedRoundRobin) Close() {
	b.Balancer.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.picker.close()
	b.picker = nil
	for _, e := range b.endpoints.All() {
		e.close()
	}
}

// OwnsSubConns implements subconns.Owner.
func (*weightedRoundRobin) OwnsSubConns() {}

// report replaces the picker of endpoints that are ready by our own.
func (b *weightedRoundRobin) report(s balancer.State) {
	if p := b.renew(s); p != nil {
		s.Picker = p
	}
	b.cc.UpdateState(s)
}

// renew ends the former picker and makes another, unless nothing is ready.
func (b *weightedRoundRobin) renew(s balancer.State) *picker {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.picker.close()
	b.picker = nil
	if s.ConnectivityState != connectivity.Ready || b.closed {
		return nil
	}
	var entries []entry
	for _, child := range endpointsharding.ChildStatesFromPicker(s.Picker) {
		if child.State.ConnectivityState != connectivity.Ready {
			continue
		}
		e, known := b.endpoints.Get(child.Endpoint)
		if !known { // it is about to go
			e = newEndpoint(b.config)
		}
		entries = append(entries, entry{e, child.State.Picker})
	}
	b.picker = newPicker(entries, b.config, b.meter)
	return b.picker
}

// endpointOf returns the endpoint of an address, nil for none.
func (b *weightedRoundRobin) endpointOf(addrs []resolver.Address) *endpoint {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range addrs {
		if e := b.byAddress[a.Addr]; e != nil {
			return e
		}
	}
	return nil
}

// children is what the balancer of the endpoints has for its channel.
type children struct {
	balancer.ClientConn
	parent *weightedRoundRobin
}

// UpdateState implements balancer.ClientConn.
func (c *children) UpdateState(s balancer.State) { c.parent.report(s) }

// NewSubConn implements balancer.ClientConn. The endpoint hears of the SubConn's states
// before the child does.
func (c *children) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	e, listener := c.parent.endpointOf(addrs), opts.StateListener
	if e == nil || listener == nil {
		//lint:ignore SA1019 the child has its reasons
		return c.ClientConn.NewSubConn(addrs, opts)
	}
	var sc balancer.SubConn
	opts.StateListener = func(s balancer.SubConnState) {
		e.changed(&sc, s.ConnectivityState)
		listener(s)
	}
	// sc is written before anybody can call Connect, and so before the listener runs.
	//lint:ignore SA1019 the child has its reasons
	sc, err := c.ClientConn.NewSubConn(addrs, opts)
	return sc, err
}
