// SPDX-License-Identifier: Apache-2.0

// Package endpointsharding is the ground of policies that spread RPCs over endpoints
// (gRFC A61): it gives each endpoint a child policy of its own, pick_first mostly, which
// finds an address of the endpoint that works. A policy such as round_robin wraps it and
// makes its own picker of the children that are ready.
//
// All of it may change or go in a later release.
package endpointsharding

import (
	"errors"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/later"
	"google.golang.org/grpc/resolver"
)

var (
	logger = grpclog.Component("endpointsharding")

	errNoEndpoints = errors.New("no children to pick from")
)

// ChildBuilderFunc makes the child of one endpoint. It is like the Build of a
// balancer.Builder.
type ChildBuilderFunc func(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer

// Options change how NewBalancer's balancer works.
type Options struct {
	// DisableAutoReconnect leaves a child that reports Idle alone. Otherwise it is
	// told to leave idleness at once.
	DisableAutoReconnect bool
}

// NewBalancer returns a balancer that builds a child for each endpoint by childBuilder
// and reports to cc. Its state is that of the children, the best first: Ready,
// Connecting, Idle, TransientFailure. Its picker goes round the pickers of the children
// in that state; ChildStatesFromPicker gets all children from it.
//
// A child gets the resolver's state with its own endpoint as the only one, and the
// balancer's configuration as it is. Endpoints without an address get no child, and
// endpoints of the same set of addresses are one. States that children report in an
// update, by the resolver or of it failing, reach cc as one report at its end.
//
// cc's UpdateState is called with a lock held, from any goroutine: it must not call
// back into the balancer.
func NewBalancer(cc balancer.ClientConn, opts balancer.BuildOptions, childBuilder ChildBuilderFunc, esOpts Options) balancer.Balancer {
	b := &sharding{cc: cc, opts: buildoptions.Keep(cc, opts), build: childBuilder, Options: esOpts, err: errNoEndpoints}
	_, b.later = cc.(later.Children)
	return b
}

// sharding is the balancer.
//
// Lock order: the building of a child (see policy), the call into it (see package serial),
// then mu, then what cc locks.
type sharding struct {
	// Immutable.
	cc    balancer.ClientConn
	opts  buildoptions.Kept
	build ChildBuilderFunc
	Options
	later bool // children are built when they leave idleness

	mu     sync.Mutex
	closed bool
	held   bool  // a call from above is not over, and will report at its end
	dirty  bool  // there is something to report
	err    error // why there are no children
	latest *news // what children that are not built yet have to hear; nil where all are

	roster
}

// UpdateClientConnState gives each endpoint its child and closes those that are left
// over. The error joins those of the children; without any it is
// balancer.ErrBadResolverState.
func (b *sharding) UpdateClientConnState(s balancer.ClientConnState) error {
	b.hold()
	defer b.release()
	told, over := b.adopt(s)
	for _, p := range over {
		p.Close()
	}
	for _, t := range told {
		t.start()
	}
	var errs []error
	for _, t := range told {
		errs = append(errs, t.UpdateClientConnState(ownState(s, t.endpoint)))
	}
	if len(b.children) == 0 {
		return balancer.ErrBadResolverState
	}
	return errors.Join(errs...)
}

// adopt makes the endpoints of s the children. It returns the policies among them, and those of
// children that are gone.
func (b *sharding) adopt(s balancer.ClientConnState) (list []told, over []*policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.later {
		b.latest = &news{state: s}
		b.latest.state.ResolverState.Endpoints, b.latest.state.ResolverState.Addresses = nil, nil
	}
	children, states := b.match(s.ResolverState.Endpoints)
	over = b.replace(children, states)
	b.err, b.dirty = errNoEndpoints, true
	for i, c := range children {
		if c.policy == nil && !b.later {
			c.policy = b.newPolicy(c)
		}
		if c.policy != nil {
			list = append(list, told{c.policy, states[i].Endpoint})
		}
	}
	return list, over
}

// match returns the children of the endpoints, new ones among them, and what is known of them.
func (b *sharding) match(endpoints []resolver.Endpoint) ([]*child, []ChildState) {
	known, seen := resolver.NewEndpointMap[*child](), resolver.NewEndpointMap[struct{}]()
	for i, c := range b.children {
		known.Set(b.states[i].Endpoint, c)
	}
	children, states := make([]*child, 0, len(endpoints)), make([]ChildState, 0, len(endpoints))
	for _, e := range endpoints {
		if _, twice := seen.Get(e); twice || len(e.Addresses) == 0 {
			continue
		}
		seen.Set(e, struct{}{})
		c, ok := known.Get(e)
		var s ChildState
		if ok {
			s = b.states[c.index]
		} else {
			c, s = b.newChild()
		}
		s.Endpoint = e
		children, states = append(children, c), append(states, s)
	}
	return children, states
}

// waiting is the picker of a child that has reported nothing yet.
var waiting = base.NewErrPicker(balancer.ErrNoSubConnAvailable)

// newChild returns a child without a policy.
func (b *sharding) newChild() (*child, ChildState) {
	c := &child{index: gone}
	s := balancer.State{ConnectivityState: connectivity.Connecting, Picker: waiting}
	if b.later {
		s.ConnectivityState = connectivity.Idle
	}
	// Who asks may be in the middle of a report of this child, or of another, or hold
	// a lock that the child's next report will take.
	return c, ChildState{State: s, ExitIdle: func() { go b.exitIdle(c) }}
}

// ResolverError tells all children. Without any, RPCs fail with the text of err: a status in
// it is not theirs.
func (b *sharding) ResolverError(err error) {
	b.hold()
	defer b.release()
	for _, p := range b.adoptError(err) {
		p.start()
		p.ResolverError(err)
	}
}

// adoptError returns the policies that have to hear of the error.
func (b *sharding) adoptError(err error) (policies []*policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err, b.dirty = err, true
	if b.latest != nil {
		b.latest = &news{b.latest.state, err}
	}
	for _, c := range b.children {
		if c.policy != nil {
			policies = append(policies, c.policy)
		}
	}
	return policies
}

// ExitIdle tells all children, which look themselves whether they are idle.
func (b *sharding) ExitIdle() {
	b.hold()
	defer b.release()
	for _, c := range b.children {
		b.exitIdle(c)
	}
}

// exitIdle tells a child, which is built now at the latest.
func (b *sharding) exitIdle(c *child) {
	if p := b.policyOf(c); p != nil {
		p.start()
		p.ExitIdle()
	}
}

// policyOf returns the policy of a child, nil when the child is gone.
func (b *sharding) policyOf(c *child) *policy {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.index == gone {
		return nil
	}
	if c.policy == nil {
		c.policy = b.newPolicy(c)
		c.policy.tell(ownState(b.latest.state, b.states[c.index].Endpoint), b.latest.err)
	}
	return c.policy
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (b *sharding) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// Close closes the children. Nothing is reported any more.
func (b *sharding) Close() {
	for _, p := range b.end() {
		p.Close()
	}
}

// OwnsSubConns implements subconns.Owner.
func (*sharding) OwnsSubConns() {}

func (b *sharding) end() (over []*policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.latest, b.err = true, nil, errNoEndpoints
	return b.replace(nil, nil)
}

// hold keeps back what is to be reported until release.
func (b *sharding) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = true
}

func (b *sharding) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = false
	if b.dirty {
		b.publish()
	}
}

// childReported takes a child's state.
func (b *sharding) childReported(c *child, s balancer.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.index == gone {
		return
	}
	b.set(c.index, s)
	if s.ConnectivityState == connectivity.Idle && !b.DisableAutoReconnect {
		b.states[c.index].ExitIdle()
	}
	b.publish()
}

// publish reports the state of all children. mu is held, so that cc sees the states in
// the order in which they took effect.
func (b *sharding) publish() {
	b.dirty = b.held
	if b.closed || b.held {
		return
	}
	if len(b.children) == 0 {
		b.cc.UpdateState(balancer.State{
			ConnectivityState: connectivity.TransientFailure,
			Picker:            base.NewErrPicker(errors.New(b.err.Error())),
		})
		return
	}
	var all balancer.ConnectivityStateEvaluator
	for i := range b.states {
		all.RecordTransition(connectivity.Shutdown, b.states[i].State.ConnectivityState)
	}
	state := all.CurrentState()
	b.cc.UpdateState(balancer.State{ConnectivityState: state, Picker: newPicker(state, b.share())})
}

// newPolicy returns the policy of a child, which start builds.
func (b *sharding) newPolicy(c *child) *policy {
	p := &struct {
		policy
		conn childConn
	}{conn: childConn{ClientConn: b.cc, parent: b, child: c}}
	p.Init(&p.conn)
	p.begin = func() { p.Build(b.build, b.opts.Of(b.cc)) }
	return &p.policy
}

// childConn is where a child's reports go.
type childConn struct {
	balancer.ClientConn
	parent *sharding
	child  *child
}

// BuildOptions implements buildoptions.Owner.
func (cc *childConn) BuildOptions() balancer.BuildOptions { return cc.parent.opts.Of(cc.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (cc *childConn) UpdateState(s balancer.State) {
	cc.parent.childReported(cc.child, s)
}
