// SPDX-License-Identifier: Apache-2.0

// Package priority has a policy whose children are in an order of preference. It picks with the
// first child that works (gRFC A56, A115). Endpoints must say to which child they belong.
// Importing the package registers the policy.
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
	// failover is how long a child may try to connect before the policy also starts the next
	// one.
	failover = 10 * time.Second
	// retention is how long the policy keeps a child that it does not need because a better one
	// works.
	retention = 15 * time.Minute
)

// waiting is the picker of a child that has not reported a state yet.
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

// ParseConfig parses the fields "children", a map from names to objects with the child's policy
// in "config", and "priorities", the list of these names.
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

// policy is the balancer. Everything that happens is an event: calls of the parent, reports of
// children, timers. Events are handled one at a time and in order. So the event that is being
// handled owns the fields below, and only events call children. Another goroutine handles the
// reports of children, because children report while they hold locks of their own.
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
	// work. choose need not check them again until one of them reports a new state.
	vain int
}

// common is the part of the resolver state that all children get.
type common struct {
	serviceConfig *serviceconfig.ParseResult
	attributes    *attributes.Attributes
}

// do handles an event of the parent, and waits until it has been handled.
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

// later queues an event of a child or of a timer.
func (p *policy) later(f func()) {
	p.events.Go(func() {
		if !p.closed {
			f()
		}
	})
}

// UpdateClientConnState updates the children, and chooses among them again.
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

// choose chooses the child whose picker the channel uses (A56). It makes the same choice again
// if nothing has changed.
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
		picker := base.NewErrPicker(errors.New(why.Error())) // RPCs that wait for ready go on waiting for endpoints
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

// reconsider chooses again after ch has reported a new state.
func (p *policy) reconsider(ch *child) {
	p.vain = min(p.vain, ch.rank)
	p.choose()
}

// use makes ch the current child, and reports its state to the channel.
func (p *policy) use(ch *child) {
	p.current = ch
	p.cc.UpdateState(ch.state)
}

// add adds the child of priority i.
func (p *policy) add(i int) *child {
	ch := newChild(p, p.config.Priorities[i])
	ch.rank = i
	p.children.Set(ch.name, ch)
	if err := ch.update(); err != nil {
		// The child makes RPCs fail with this error. The resolver has to know that it should
		// try again.
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

// ResolverError passes the error to the children. If there are none, RPCs fail with the error's
// text.
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

// ExitIdle calls the current child.
func (p *policy) ExitIdle() {
	p.do(func() {
		if p.current != nil {
			p.current.policy.ExitIdle()
		}
	})
}

// Close closes the children. The policy reports nothing afterwards.
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

// child is one of the children, and its ClientConn. Only events of the parent (see policy) use its policy
// and the fields that change, except ignoreReresolution.
type child struct {
	balancer.ClientConn
	parent *policy
	name   string
	rank   int // its place in the priorities
	policy gracefulswitch.Balancer

	gone bool
	// failed says that the child has reported TransientFailure since it was last Ready or Idle.
	failed bool

	ignoreReresolution atomic.Bool

	state     balancer.State
	failover  *time.Timer // runs while the child is given time to connect; otherwise nil
	retention *time.Timer // runs while the child is kept but not in use; otherwise nil
}

func newChild(p *policy, name string) *child {
	c := &child{ClientConn: p.cc, parent: p, name: name}
	c.state = balancer.State{ConnectivityState: connectivity.Connecting, Picker: waiting}
	c.policy.Init(c)
	c.startFailover()
	return c
}

// update passes the child its configuration and endpoints.
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

// take stores the state, and starts or stops the failover timer (A56).
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

// deactivate removes the child after the retention time, unless reactivate is called before.
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
