// SPDX-License-Identifier: Apache-2.0

// Package priority has policies in an order, and picks with the first of them that works (gRFC
// A56, A115). Endpoints must say which child they are for. Importing the package registers it.
package priority

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/few"
	"google.golang.org/grpc/internal/hierarchy"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

const (
	// failover is how long a child may try to connect before the next one is tried too.
	failover = 10 * time.Second
	// retention is how long a child is kept that a better one has made superfluous.
	retention = 15 * time.Minute
)

// waiting is the picker of a child that has reported nothing yet.
var waiting = base.NewErrPicker(balancer.ErrNoSubConnAvailable)

var errEmpty = errors.New("there are no priorities, and so no endpoints")

func init() { balancer.Register(builder{}) }

type builder struct{}

func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return &policy{cc: cc, opts: buildoptions.Keep(cc, opts)}
}

// ParseConfig reads "children", by name, each with its policy in "config", and "priorities",
// their names.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		Children map[string]struct {
			Config             json.RawMessage `json:"config"`
			IgnoreReresolution bool            `json:"ignoreReresolutionRequests"`
		} `json:"children"`
		Priorities []string `json:"priorities"`
	}
	if err := json.Unmarshal(js, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	c := &Config{Children: make(map[string]Child, len(in.Children)), Priorities: in.Priorities}
	for name, child := range in.Children {
		policy, err := gracefulswitch.ParseConfig(child.Config)
		if err != nil {
			return nil, fmt.Errorf("%s: child %q: %w", Name, name, err)
		}
		c.Children[name] = Child{policy, child.IgnoreReresolution}
	}
	seen := make(map[string]bool)
	for _, name := range c.Priorities {
		if _, ok := c.Children[name]; !ok {
			return nil, fmt.Errorf("%s: priorities name %q, which is not in children", Name, name)
		}
		if seen[name] {
			return nil, fmt.Errorf("%s: priorities name %q twice", Name, name)
		}
		seen[name] = true
	}
	if len(seen) != len(c.Children) {
		return nil, fmt.Errorf("%s: %d children, but %d priorities", Name, len(c.Children), len(seen))
	}
	return c, nil
}

// policy is the balancer. Whatever happens is an event: the parent's calls, what children
// report, timers. Events are handled one at a time and in order, so that all below belongs to
// the event that is handled, and children are called by events alone. What children report is
// handled by another goroutine, as they report with locks of theirs held.
type policy struct {
	cc     balancer.ClientConn
	opts   buildoptions.Kept
	events serializer.Serializer

	closed    bool
	config    *Config
	common    common
	endpoints map[string][]resolver.Endpoint
	children  few.Map[string, *child]
	current   *child
	// vain is how many priorities, from the best on, have a child that is in use and does not
	// work: there is no need to ask them again before one of them has news.
	vain int
}

// common is what the states of all children have in common.
type common struct {
	serviceConfig *serviceconfig.ParseResult
	attributes    *attributes.Attributes
}

// do handles an event of the parent's, and waits until that is done.
func (p *policy) do(f func()) {
	done := make(chan struct{})
	if p.events.Do(func() {
		defer close(done)
		if !p.closed {
			f()
		}
	}) {
		<-done
	}
}

// later handles an event of a child's or of a timer's.
func (p *policy) later(f func()) {
	p.events.Go(func() {
		if !p.closed {
			f()
		}
	})
}

// UpdateClientConnState gives children what is theirs, and chooses among them anew.
func (p *policy) UpdateClientConnState(s balancer.ClientConnState) (err error) {
	c, ok := s.BalancerConfig.(*Config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	p.do(func() { err = p.update(c, s.ResolverState) })
	return err
}

func (p *policy) update(c *Config, s resolver.State) error {
	p.config, p.common, p.endpoints, p.vain = c, common{s.ServiceConfig, s.Attributes}, c.Endpoints, 0
	if p.endpoints == nil {
		p.endpoints = hierarchy.Group(s.Endpoints)
	}
	var errs []error
	for name, ch := range p.children.All {
		if _, ok := c.Children[name]; !ok {
			p.remove(ch) // A115
			continue
		}
		if err := ch.update(); err != nil {
			errs = append(errs, fmt.Errorf("child %q: %w", name, err))
		}
	}
	for i, name := range c.Priorities {
		if ch, ok := p.children.Get(name); ok {
			ch.rank = i
		}
	}
	p.choose()
	return errors.Join(errs...)
}

// choose picks the child whose picker the channel is to use. Run again without news it does the
// same (A56).
func (p *policy) choose() {
	if p.config == nil {
		return
	}
	if len(p.config.Priorities) == 0 {
		p.current = nil
		why := p.config.Empty
		if why == nil {
			why = errEmpty
		}
		picker := base.NewErrPicker(errors.New(why.Error())) // RPCs that wait for endpoints do so
		p.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: picker})
		return
	}
	for i := p.vain; i < len(p.config.Priorities); i++ {
		ch, ok := p.children.Get(p.config.Priorities[i])
		if !ok {
			ch = p.add(i)
		}
		ch.reactivate()
		switch {
		case ch.state.ConnectivityState == connectivity.Ready, ch.state.ConnectivityState == connectivity.Idle:
			for _, lower := range p.config.Priorities[i+1:] {
				if l, ok := p.children.Get(lower); ok {
					l.deactivate()
				}
			}
			p.use(ch)
			return
		case ch.failover != nil:
			p.use(ch)
			return
		}
		p.vain = i + 1
	}
	for _, name := range p.config.Priorities {
		if ch, _ := p.children.Get(name); ch.state.ConnectivityState == connectivity.Connecting {
			p.use(ch)
			return
		}
	}
	last, _ := p.children.Get(p.config.Priorities[len(p.config.Priorities)-1])
	p.use(last)
}

// reconsider chooses anew where ch has news.
func (p *policy) reconsider(ch *child) {
	p.vain = min(p.vain, ch.rank)
	p.choose()
}

// use tells the channel of a child's state.
func (p *policy) use(ch *child) {
	p.current = ch
	p.cc.UpdateState(ch.state)
}

// add makes the child of priority i.
func (p *policy) add(i int) *child {
	ch := newChild(p, p.config.Priorities[i])
	ch.rank = i
	p.children.Set(ch.name, ch)
	if err := ch.update(); err != nil {
		// The child fails RPCs with it; a resolver is to know that it shall try again.
		p.cc.ResolveNow(resolver.ResolveNowOptions{})
	}
	return ch
}

func (p *policy) remove(ch *child) {
	p.children.Delete(ch.name)
	if p.current == ch {
		p.current = nil
	}
	ch.close()
}

// ResolverError tells the children; without any, RPCs fail with its text.
func (p *policy) ResolverError(err error) {
	p.do(func() {
		if p.children.Len() == 0 {
			p.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: base.NewErrPicker(errors.New(err.Error()))})
			return
		}
		for _, ch := range p.children.All {
			ch.policy.ResolverError(err)
		}
	})
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (p *policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle tells the child in use.
func (p *policy) ExitIdle() {
	p.do(func() {
		if p.current != nil {
			p.current.policy.ExitIdle()
		}
	})
}

// Close closes the children. Nothing is reported any more.
func (p *policy) Close() {
	p.do(func() {
		p.closed = true
		for _, ch := range p.children.All {
			ch.close()
		}
		p.children.Clear()
	})
	p.events.Close()
}

// child is one of the policies, and its ClientConn. It belongs to the events of the parent.
type child struct {
	balancer.ClientConn
	parent *policy
	name   string
	rank   int // its place in the priorities
	policy gracefulswitch.Balancer

	gone bool
	// failed says that it has reported TransientFailure since it was Ready or Idle.
	failed bool

	ignoreReresolution atomic.Bool

	state     balancer.State
	failover  *time.Timer // runs while it is given time to connect; nil: it does not
	retention *time.Timer // runs while it is not in use; nil: it is
}

func newChild(p *policy, name string) *child {
	c := &child{ClientConn: p.cc, parent: p, name: name}
	c.state = balancer.State{ConnectivityState: connectivity.Connecting, Picker: waiting}
	c.policy.Init(c)
	c.startFailover()
	return c
}

// update gives the child its configuration and endpoints.
func (c *child) update() error {
	p := c.parent
	config := p.config.Children[c.name]
	c.ignoreReresolution.Store(config.IgnoreReresolution)
	own := resolver.State{Endpoints: p.endpoints[c.name], ServiceConfig: p.common.serviceConfig, Attributes: p.common.attributes}
	for _, e := range own.Endpoints {
		own.Addresses = append(own.Addresses, e.Addresses...)
	}
	return c.policy.UpdateClientConnState(balancer.ClientConnState{ResolverState: own, BalancerConfig: config.Policy})
}

// BuildOptions implements buildoptions.Owner.
func (c *child) BuildOptions() balancer.BuildOptions { return c.parent.opts.Of(c.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (c *child) UpdateState(s balancer.State) {
	c.parent.later(func() {
		if c.gone {
			return
		}
		c.take(s)
		c.parent.reconsider(c)
	})
}

// take keeps the state, and starts or stops the time to connect (A56).
func (c *child) take(s balancer.State) {
	before := c.state.ConnectivityState
	c.state = s
	switch s.ConnectivityState {
	case connectivity.Ready, connectivity.Idle:
		c.failed = false
		c.stopFailover()
	case connectivity.TransientFailure:
		c.failed = true
		c.stopFailover()
	case connectivity.Connecting:
		if before != connectivity.Connecting && !c.failed {
			c.startFailover()
		}
	}
}

// ResolveNow implements balancer.ClientConn.
func (c *child) ResolveNow(o resolver.ResolveNowOptions) {
	if !c.ignoreReresolution.Load() {
		c.ClientConn.ResolveNow(o)
	}
}

func (c *child) startFailover() {
	if c.failover != nil {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(failover, func() {
		c.parent.later(func() {
			if c.failover == t {
				c.failover = nil
				c.parent.reconsider(c)
			}
		})
	})
	c.failover = t
}

func (c *child) stopFailover() {
	if c.failover != nil {
		c.failover.Stop()
		c.failover = nil
	}
}

// deactivate keeps the child for a while.
func (c *child) deactivate() {
	if c.retention != nil {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(retention, func() {
		c.parent.later(func() {
			if c.retention == t {
				c.parent.remove(c)
			}
		})
	})
	c.retention = t
}

func (c *child) reactivate() {
	if c.retention != nil {
		c.retention.Stop()
		c.retention = nil
	}
}

func (c *child) close() {
	c.gone = true
	c.stopFailover()
	c.reactivate()
	c.policy.Close()
}
