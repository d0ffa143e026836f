// SPDX-License-Identifier: Apache-2.0

// Package endpointsharding is the base of policies that spread RPCs over endpoints (gRFC A61). It
// gives each endpoint a child policy of its own, usually pick_first, which finds an address of the
// endpoint that works. A policy such as round_robin wraps it and makes a picker from the children
// that are ready.
//
// All of this package may change or be removed in a later release.
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
	// DisableAutoReconnect leaves a child that reports Idle as it is. Without it, the balancer
	// calls the child's ExitIdle at once.
	DisableAutoReconnect bool
}

// NewBalancer returns a balancer that builds a child for each endpoint with childBuilder and
// reports to cc. Its state is the best state of a child, in the order Ready, Connecting, Idle,
// TransientFailure. Its picker takes turns among the pickers of the children in that state.
// ChildStatesFromPicker returns all children of such a picker.
//
// A child gets the resolver's state with its own endpoint as the only one, and the balancer's
// configuration as it is. Endpoints without an address get no child, and endpoints with the same
// set of addresses share one. If children report states while UpdateClientConnState, ResolverError
// or ExitIdle runs, cc gets one report when the call ends.
//
// The balancer calls cc's UpdateState from any goroutine, and holds a lock meanwhile: UpdateState
// must not call the balancer.
func NewBalancer(cc balancer.ClientConn, opts balancer.BuildOptions, childBuilder ChildBuilderFunc, esOpts Options) balancer.Balancer {
	b := &sharding{cc: cc, opts: buildoptions.Keep(cc, opts), build: childBuilder, Options: esOpts, err: errNoEndpoints}
	_, b.later = cc.(later.Children)
	return b
}

// sharding is the balancer.
//
// Lock order: policy.once, which is held while a child is built; the lock of package serial, which
// is held while a child is called; mu; the locks of cc.
type sharding struct {
	// Immutable.
	cc    balancer.ClientConn
	opts  buildoptions.Kept
	build ChildBuilderFunc
	Options
	later bool // a child is built when it leaves idle mode

	mu     sync.Mutex
	closed bool
	held   bool  // a call by the parent is running and will report at its end
	dirty  bool  // release must report
	err    error // why there are no children
	latest *news // the update for children that are not built yet; nil if all are

	roster
}

// UpdateClientConnState passes the state to the child of each endpoint, and closes the children
// whose endpoints are gone. The error joins the children's errors. If there are no children, it is
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

// adopt makes the children those of the endpoints in s. It returns the policies of these children,
// and the policies of children that are gone.
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

// match returns the children of the endpoints and their states. It makes new children for new
// endpoints.
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
	// ExitIdle starts a goroutine, as its caller may be in the middle of a report of this or
	// another child, or hold a lock that the child's next report takes.
	return c, ChildState{State: s, ExitIdle: func() { go b.exitIdle(c) }}
}

// ResolverError passes the error to all children. If there are none, RPCs fail with the text of
// err, so that a status in err does not become theirs.
func (b *sharding) ResolverError(err error) {
	b.hold()
	defer b.release()
	for _, p := range b.adoptError(err) {
		p.start()
		p.ResolverError(err)
	}
}

// adoptError stores the error and returns the policies to which it must be passed.
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

// ExitIdle calls ExitIdle of all children. Those that are not idle ignore it.
func (b *sharding) ExitIdle() {
	b.hold()
	defer b.release()
	for _, c := range b.children {
		b.exitIdle(c)
	}
}

// exitIdle calls ExitIdle of a child. It builds the child if it is not built.
func (b *sharding) exitIdle(c *child) {
	if p := b.policyOf(c); p != nil {
		p.start()
		p.ExitIdle()
	}
}

// policyOf returns the policy of a child, or nil if the child is gone.
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

// UpdateSubConnState is never called, as every SubConn has a listener.
func (b *sharding) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// Close closes the children. The balancer reports nothing after that.
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

// hold delays all reports until release.
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

// childReported handles a state that a child reports.
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

// publish reports the state that follows from the children's. The caller holds mu, so cc gets the
// states in the order in which they took effect.
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

// newPolicy returns the policy of a child. start will build it.
func (b *sharding) newPolicy(c *child) *policy {
	p := &struct {
		policy
		conn childConn
	}{conn: childConn{ClientConn: b.cc, parent: b, child: c}}
	p.Init(&p.conn)
	p.begin = func() { p.Build(b.build, b.opts.Of(b.cc)) }
	return &p.policy
}

// childConn is a child's ClientConn. It passes the child's states to the sharding.
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
