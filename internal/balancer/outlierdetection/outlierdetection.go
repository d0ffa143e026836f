// SPDX-License-Identifier: Apache-2.0

// Package outlierdetection has a balancing policy that ejects endpoints for a while if they fail
// more RPCs than others, or too many RPCs (gRFC A50, A61, A91): its child policy sees them as
// unhealthy. It is of no use above pick_first alone, which ignores health. Importing the package
// registers the policy.
package outlierdetection

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/backendlabel"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

func init() { balancer.Register(builder{}) }

// Builder returns the policy's builder, for code that makes a *Config itself.
func Builder() balancer.Builder { return builder{} }

type builder struct{}

func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	p := &policy{ClientConn: cc, opts: buildoptions.Keep(cc, opts), roll: roll}
	p.child.Init(p)
	return p
}

// roll returns a random number below 100.
func roll() uint32 { return rand.Uint32N(100) }

// ParseConfig implements balancer.ConfigParser.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	in := struct {
		Interval           iserviceconfig.Duration `json:"interval"`
		BaseEjectionTime   iserviceconfig.Duration `json:"baseEjectionTime"`
		MaxEjectionTime    iserviceconfig.Duration `json:"maxEjectionTime"`
		MaxEjectionPercent uint32                  `json:"maxEjectionPercent"`
		SuccessRate        *SuccessRate            `json:"successRateEjection"`
		FailurePercentage  *FailurePercentage      `json:"failurePercentageEjection"`
		ChildPolicy        json.RawMessage         `json:"childPolicy"`
	}{
		Interval:           iserviceconfig.Duration(10 * time.Second),
		BaseEjectionTime:   iserviceconfig.Duration(30 * time.Second),
		MaxEjectionTime:    iserviceconfig.Duration(300 * time.Second),
		MaxEjectionPercent: 10,
	}
	if err := json.Unmarshal(js, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	c := &Config{
		Interval: time.Duration(in.Interval), BaseEjectionTime: time.Duration(in.BaseEjectionTime),
		MaxEjectionTime: time.Duration(in.MaxEjectionTime), MaxEjectionPercent: in.MaxEjectionPercent,
		SuccessRate: in.SuccessRate, FailurePercentage: in.FailurePercentage,
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	child, err := gracefulswitch.ParseConfig(in.ChildPolicy)
	if err != nil {
		return nil, fmt.Errorf("%s: childPolicy: %w", Name, err)
	}
	c.Child = child
	return c, nil
}

// UpdateClientConnState takes over the configuration and the endpoints, and passes the state to the
// child.
func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*Config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	p.adopt(c, s.ResolverState)
	s.BalancerConfig = c.Child
	return p.child.UpdateClientConnState(s)
}

func (p *policy) adopt(c *Config, s resolver.State) {
	p.mu.Lock()
	before := p.config
	p.config = c
	p.service = backendlabel.ServiceOf(s)
	var endpoints []resolver.Endpoint
	if c.counting() { // otherwise the policy keeps nothing about them
		endpoints = s.Endpoints
	}
	changes := p.setEndpointsLocked(endpoints)
	changes = append(changes, p.scheduleLocked()...)
	if p.reported && before != nil && before.counting() != c.counting() {
		p.reportLocked()
	}
	p.mu.Unlock()
	tell(changes)
}

// setEndpointsLocked replaces the endpoints. It keeps the state of endpoints that stay; endpoints
// are the same if they have the same addresses. It returns the SubConns whose endpoint has changed.
func (p *policy) setEndpointsLocked(list []resolver.Endpoint) (changes []change) {
	old := p.byAddress
	p.endpoints, p.byAddress = nil, nil
	if len(list) > 0 {
		p.endpoints, p.byAddress = make([]*endpoint, 0, len(list)), make(map[string]*endpoint, len(list))
	}
	taken := make(map[*endpoint]bool)
	for _, resolved := range list {
		if len(resolved.Addresses) == 0 {
			continue
		}
		if e := p.byAddress[resolved.Addresses[0].Addr]; e != nil && e.has(resolved.Addresses) {
			continue // it is listed twice
		}
		e := old[resolved.Addresses[0].Addr]
		if e == nil || taken[e] || !e.has(resolved.Addresses) {
			e = newEndpoint(resolved.Addresses)
		}
		taken[e] = true
		p.endpoints = append(p.endpoints, e)
		for _, a := range resolved.Addresses {
			p.byAddress[a.Addr] = e
		}
	}
	for sc := range p.subConns.All {
		if now := p.byAddress[sc.address]; sc.endpoint.Swap(now) != now {
			changes = append(changes, sc)
		}
	}
	return changes
}

// ResolverError passes the error to the child.
func (p *policy) ResolverError(err error) { p.child.ResolverError(err) }

// UpdateSubConnState is never called, as every SubConn has a listener.
func (p *policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle passes the call to the child.
func (p *policy) ExitIdle() { p.child.ExitIdle() }

// Close closes the child.
func (p *policy) Close() {
	p.mu.Lock()
	p.closed = true
	p.stopLocked()
	p.mu.Unlock()
	p.child.Close()
}

// BuildOptions implements buildoptions.Owner.
func (p *policy) BuildOptions() balancer.BuildOptions { return p.opts.Of(p.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (p *policy) UpdateState(s balancer.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.reported = s, true
	p.reportLocked()
}

func (p *policy) reportLocked() {
	s := p.last
	s.Picker = &picker{child: s.Picker, counts: p.config != nil && p.config.counting()}
	p.ClientConn.UpdateState(s)
}
