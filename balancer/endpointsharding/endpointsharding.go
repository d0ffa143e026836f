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
	"google.golang.org/grpc/internal/balancer/serial"
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
	return &sharding{cc: cc, opts: buildoptions.Keep(cc, opts), build: childBuilder, Options: esOpts, err: errNoEndpoints}
}

// sharding is the balancer.
//
// Lock order: the call into a child (see package serial), then mu, then what cc locks.
type sharding struct {
	// Immutable.
	cc    balancer.ClientConn
	opts  buildoptions.Kept
	build ChildBuilderFunc
	Options

	mu       sync.Mutex
	closed   bool
	held     bool     // a call from above is not over, and will report at its end
	dirty    bool     // there is something to report
	children []*child // in the resolver's order; only calls from above replace it
	err      error    // why there are no children
}

// UpdateClientConnState gives each endpoint its child and closes those that are left
// over. The error joins those of the children; without any it is
// balancer.ErrBadResolverState.
func (b *sharding) UpdateClientConnState(s balancer.ClientConnState) error {
	b.hold()
	defer b.release()
	known := resolver.NewEndpointMap[*child]()
	for _, c := range b.children {
		known.Set(c.endpoint, c)
	}
	wanted, fresh := b.match(s.ResolverState.Endpoints, known)
	gone := b.replace(wanted, errNoEndpoints)
	for _, c := range gone {
		c.Close()
	}
	if len(fresh) > 0 {
		opts := b.opts.Of(b.cc)
		for _, c := range fresh {
			c.Build(b.build, opts)
		}
	}
	var errs []error
	for _, c := range wanted {
		own := s
		own.ResolverState.Endpoints = []resolver.Endpoint{c.endpoint}
		own.ResolverState.Addresses = c.endpoint.Addresses
		errs = append(errs, c.UpdateClientConnState(own))
	}
	if len(wanted) == 0 {
		return balancer.ErrBadResolverState
	}
	return errors.Join(errs...)
}

// match returns the children of the endpoints, and those among them that are new.
func (b *sharding) match(endpoints []resolver.Endpoint, known *resolver.EndpointMap[*child]) (all, fresh []*child) {
	seen := resolver.NewEndpointMap[struct{}]()
	for _, e := range endpoints {
		if _, twice := seen.Get(e); twice || len(e.Addresses) == 0 {
			continue
		}
		seen.Set(e, struct{}{})
		c, ok := known.Get(e)
		if !ok {
			c = newChild(b)
			fresh = append(fresh, c)
		}
		b.setEndpoint(c, e)
		all = append(all, c)
	}
	return all, fresh
}

func (b *sharding) setEndpoint(c *child, e resolver.Endpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.endpoint = e
}

// replace makes wanted the children, and returns the former ones that are not among
// them. err says why, if there are none.
func (b *sharding) replace(wanted []*child, err error) (gone []*child) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.children {
		c.live = false
	}
	for _, c := range wanted {
		c.live = true
	}
	for _, c := range b.children {
		if !c.live {
			gone = append(gone, c)
		}
	}
	b.children, b.err, b.dirty = wanted, err, true
	return gone
}

// ResolverError tells all children. Without any, RPCs fail with the text of err: a status in
// it is not theirs.
func (b *sharding) ResolverError(err error) {
	b.hold()
	defer b.release()
	b.mu.Lock()
	b.err, b.dirty = err, true
	b.mu.Unlock()
	for _, c := range b.children {
		c.ResolverError(err)
	}
}

// ExitIdle tells all children, which look themselves whether they are idle.
func (b *sharding) ExitIdle() {
	b.hold()
	defer b.release()
	for _, c := range b.children {
		c.ExitIdle()
	}
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (b *sharding) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// Close closes the children. Nothing is reported any more.
func (b *sharding) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	for _, c := range b.replace(nil, errNoEndpoints) {
		c.Close()
	}
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
	if !c.live {
		return
	}
	c.state = s
	if s.ConnectivityState == connectivity.Idle && !b.DisableAutoReconnect {
		c.exitIdle()
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
	states := make([]ChildState, 0, len(b.children))
	for _, c := range b.children {
		all.RecordTransition(connectivity.Shutdown, c.state.ConnectivityState)
		states = append(states, ChildState{Endpoint: c.endpoint, State: c.state, ExitIdle: c.exitIdle})
	}
	state := all.CurrentState()
	b.cc.UpdateState(balancer.State{ConnectivityState: state, Picker: newPicker(state, states)})
}

// child is the policy of one endpoint.
type child struct {
	serial.Child
	conn     childConn
	exitIdle func() // immutable; made once, as every ChildState has it

	// The sharding's lock guards the rest. Only calls from above set endpoint, so
	// they may read it without.
	endpoint resolver.Endpoint
	state    balancer.State
	live     bool // it is one of the sharding's children
}

// waiting is the picker of a child that has reported nothing yet.
var waiting = base.NewErrPicker(balancer.ErrNoSubConnAvailable)

// newChild returns a child that is not built.
func newChild(b *sharding) *child {
	c := &child{state: balancer.State{ConnectivityState: connectivity.Connecting, Picker: waiting}}
	c.conn = childConn{ClientConn: b.cc, parent: b, child: c}
	c.Init(&c.conn)
	// Who asks may be in the middle of a report of this child, or of another, or hold
	// a lock that the child's next report will take.
	c.exitIdle = func() { go c.ExitIdle() }
	return c
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
