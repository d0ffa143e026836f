// SPDX-License-Identifier: Apache-2.0

// Package overridehost sends the RPCs of a session to the endpoint that handled the session's
// first RPC (gRFC A55, A60, A75). The call.Info of an RPC says which addresses its session wants.
// For all other RPCs the child policy picks. Only sessions use endpoints that are draining.
// Importing the package registers the policy.
package overridehost

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/xds/balancer/locality"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "xds_override_host_experimental"

// minSweep is the least time between two searches for connections that no session uses.
const minSweep = 5 * time.Second

func init() { balancer.Register(builder{}) }

// Builder returns the policy's builder, for callers that make a Config themselves.
func Builder() balancer.Builder { return builder{} }

type builder struct{}

func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

// Config is the policy's configuration.
type Config struct {
	serviceconfig.LoadBalancingConfig
	// Cluster is the name of the cluster that has the remaining settings.
	Cluster string
	// Child is the policy below this one.
	Child *gracefulswitch.Config
}

// ParseConfig parses the fields "clusterName" and "childPolicy".
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		Cluster string `json:"clusterName"`
	}
	child, err := gracefulswitch.ParseAround(Name, js, &in)
	if err != nil {
		return nil, err
	}
	return &Config{Cluster: in.Cluster, Child: child}, nil
}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	p := &policy{ClientConn: cc, entries: make(map[string]*entry)}
	p.child = gracefulswitch.New(p, opts)
	return p
}

// UpdateClientConnState passes the endpoints that are not draining to the child.
func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*Config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	health, idle := []resource.Health{resource.Unknown, resource.Healthy}, time.Hour
	if a := dependency.Of(s.ResolverState); a != nil && a.Config != nil {
		if known := a.Config.Clusters[c.Cluster]; known != nil && known.Resource != nil {
			health, idle = known.Resource.OverrideHealth, known.Resource.SessionIdleTimeout
		}
	}
	for _, sc := range p.adopt(s.ResolverState.Endpoints, health, idle) {
		sc.SubConn.Shutdown()
	}
	list := slices.Clone(s.ResolverState.Endpoints)
	s.ResolverState.Endpoints = slices.DeleteFunc(list, func(e resolver.Endpoint) bool {
		return locality.HealthOf(e) == resource.Draining
	})
	s.BalancerConfig = c.Child
	return p.child.UpdateClientConnState(s)
}

// adopt replaces the entries. It keeps the SubConns of addresses that stay, and returns the
// policy's own SubConns of addresses that are gone.
func (p *policy) adopt(list []resolver.Endpoint, health []resource.Health, idle time.Duration) (left []*subConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.health, p.idle = health, idle
	old := p.entries
	p.entries = make(map[string]*entry, len(list))
	for _, from := range list {
		for i, a := range from.Addresses {
			e := &entry{address: a, addresses: namesFrom(from.Addresses, i), health: locality.HealthOf(from)}
			if before := old[a.Addr]; before != nil {
				e.sub, e.used = before.sub, before.used
			}
			if e.sub != nil && e.sub.own && !e.sub.fits(e) {
				left = append(left, e.sub)
				e.sub, old[a.Addr].sub = nil, nil
			}
			p.entries[a.Addr] = e
		}
	}
	for name, e := range old {
		if p.entries[name] == nil && e.sub != nil && e.sub.own {
			left = append(left, e.sub)
		}
	}
	return left
}

// namesFrom lists the addresses, the i-th first.
func namesFrom(addresses []resolver.Address, i int) *[]string {
	names := make([]string, 1, len(addresses))
	names[0] = addresses[i].Addr
	for j, a := range addresses {
		if j != i {
			names = append(names, a.Addr)
		}
	}
	return &names
}

// ResolverError implements balancer.Balancer. The child handles it.
func (p *policy) ResolverError(err error) { p.child.ResolverError(err) }

// UpdateSubConnState is never called: every SubConn here has a listener.
func (p *policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements balancer.Balancer. The child handles it.
func (p *policy) ExitIdle() { p.child.ExitIdle() }

// Close closes the child, and the SubConns that are kept for sessions.
func (p *policy) Close() {
	p.child.Close()
	p.mu.Lock()
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	left := p.ownLocked(func(*entry) bool { return true })
	p.mu.Unlock()
	for _, sc := range left {
		sc.SubConn.Shutdown()
	}
}

// ownLocked removes the policy's own SubConns from those entries for which of returns true, and
// returns them.
func (p *policy) ownLocked(of func(*entry) bool) (left []*subConn) {
	for _, e := range p.entries {
		if e.sub != nil && e.sub.own && of(e) {
			left = append(left, e.sub)
			e.sub = nil
		}
	}
	return left
}

// BuildOptions implements buildoptions.Owner.
func (p *policy) BuildOptions() balancer.BuildOptions { return buildoptions.Of(p.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (p *policy) UpdateState(s balancer.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.reported = s, true
	p.reportLocked()
}

// reportLocked reports the child's last state with a new picker, which makes waiting RPCs pick
// again.
func (p *policy) reportLocked() {
	if !p.reported || p.closed {
		return
	}
	s := p.last
	s.Picker = &picker{policy: p, child: s.Picker}
	p.ClientConn.UpdateState(s)
}

// sweepLocked starts a timer, unless it is running, that closes SubConns which no session uses
// any more. The timer fires after the idle time of sessions, or after minSweep if that is longer.
func (p *policy) sweepLocked() {
	if p.sweep != nil || p.closed {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(max(p.idle, minSweep), func() {
		p.mu.Lock()
		if p.sweep != t {
			p.mu.Unlock()
			return
		}
		p.sweep = nil
		now := time.Now()
		left := p.ownLocked(func(e *entry) bool { return now.Sub(e.used) >= p.idle })
		if slices.ContainsFunc(p.subsLocked(), func(sc *subConn) bool { return sc.own }) {
			p.sweepLocked()
		}
		p.mu.Unlock()
		for _, sc := range left {
			sc.SubConn.Shutdown()
		}
	})
	p.sweep = t
}

func (p *policy) subsLocked() (list []*subConn) {
	for _, e := range p.entries {
		if e.sub != nil {
			list = append(list, e.sub)
		}
	}
	return list
}
