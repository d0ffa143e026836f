// SPDX-License-Identifier: Apache-2.0

// Package weightedroundrobin has a policy that spreads RPCs over endpoints by the load that they
// report (gRFC A58): the more queries per second a server handles in relation to its utilization,
// the more RPCs it gets. Importing the package registers the policy.
//
// All of this package may change or be removed in a later release.
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
	"google.golang.org/grpc/internal/serializer"
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

// ParseConfig returns a *config. As gRFC A58 says, a negative errorUtilizationPenalty is an error.
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

// weightedRoundRobin is the balancer. The embedded endpointsharding balancer has a child for each
// endpoint, and the methods that weightedRoundRobin has not.
type weightedRoundRobin struct {
	balancer.Balancer

	// Immutable.
	cc     balancer.ClientConn
	target string

	records serializer.Serializer // of the metrics

	// mu is taken in reports of the embedded balancer, so it must not be held in calls of it.
	mu        sync.Mutex
	closed    bool
	config    *config
	meter     meter
	endpoints *resolver.EndpointMap[*endpoint]
	byAddress map[string]*endpoint
	picker    *picker // nil while nothing is ready
}

// UpdateClientConnState passes the endpoints to the embedded balancer. Endpoints that stay keep
// their weights.
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

// adopt replaces the endpoints by those in s. It returns the endpoints that are gone.
func (b *weightedRoundRobin) adopt(s resolver.State, c *config) (gone []*endpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config = c
	b.meter = meter{
		recorder: b.cc.MetricsRecorder(),
		labels:   []string{b.target, weightedtarget.LocalityFromResolverState(s), backendService(s)},
		queue:    &b.records,
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

// Close closes the embedded balancer, and ends updates of the weights and streams of load reports.
func (b *weightedRoundRobin) Close() {
	b.Balancer.Close()
	b.records.Close()
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

// report passes a state of the embedded balancer to the channel. If it is Ready, report replaces
// the picker.
func (b *weightedRoundRobin) report(s balancer.State) {
	if p, r := b.renew(s); p != nil {
		p.meter.updateLater(r) // the embedded balancer calls report with its lock held
		s.Picker = p
	}
	b.cc.UpdateState(s)
}

// renew closes the current picker, and returns a new one with its readings if the state is Ready, otherwise nil.
func (b *weightedRoundRobin) renew(s balancer.State) (*picker, readings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.picker.close()
	b.picker = nil
	if s.ConnectivityState != connectivity.Ready || b.closed {
		return nil, readings{}
	}
	var entries []entry
	for _, child := range endpointsharding.ChildStatesFromPicker(s.Picker) {
		if child.State.ConnectivityState != connectivity.Ready {
			continue
		}
		e, known := b.endpoints.Get(child.Endpoint)
		if !known { // the endpoint is not in the last update: a report without it will come
			e = newEndpoint(b.config)
		}
		entries = append(entries, entry{e, child.State.Picker})
	}
	p, r := newPicker(entries, b.config, b.meter)
	b.picker = p
	return p, r
}

// endpointOf returns the endpoint of the first address that has one, or nil.
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

// children is the ClientConn of the embedded balancer.
type children struct {
	balancer.ClientConn
	parent *weightedRoundRobin
}

// UpdateState implements balancer.ClientConn.
func (c *children) UpdateState(s balancer.State) { c.parent.report(s) }

// NewSubConn implements balancer.ClientConn. The endpoint gets each state of the SubConn before the
// child does.
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
	// sc is set before anything can call its Connect, and so before its listener runs.
	//lint:ignore SA1019 the child has its reasons
	sc, err := c.ClientConn.NewSubConn(addrs, opts)
	return sc, err
}
