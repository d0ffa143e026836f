// SPDX-License-Identifier: Apache-2.0

// Package gracefulswitch changes the policy of a balancer without a gap: the new policy
// works beside the old one until it is ready to take over.
package gracefulswitch

import (
	"errors"
	"fmt"
	"sync"
	"unique"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/subconns"
	"google.golang.org/grpc/resolver"
)

var (
	// waiting is the picker of a policy that has reported nothing yet.
	waiting = base.NewErrPicker(balancer.ErrNoSubConnAvailable)

	errClosed = errors.New("gracefulswitch: the balancer is closed")

	// over is the current child of a Balancer that is closed. No policy reports for it.
	over = &child{}
)

// Balancer has one child policy, or two during a switch: the current one, whose picker
// the channel uses, and the pending one. The pending one takes over as soon as it
// reports something else than Connecting, or the current one is not ready.
//
// Its methods are called one at a time, as those of every Balancer; the children may
// call their ClientConn at any time.
//
// Lock order: child.calls, then Balancer.mu. The parent's UpdateState is called with mu
// held, so that the channel sees states in the order in which they took effect.
type Balancer struct {
	// Immutable.
	cc   balancer.ClientConn
	opts buildoptions.Kept

	mu      sync.Mutex
	current *child   // nil before the first switch
	pending *pending // nil unless there is a switch under way
}

// pending is a child that is to take over, with what it has reported last.
type pending struct {
	*child
	last balancer.State
}

// New returns a Balancer without a policy. It does nothing until SwitchTo, or until
// UpdateClientConnState with a *Config.
func New(cc balancer.ClientConn, opts balancer.BuildOptions) *Balancer {
	return &Balancer{cc: cc, opts: buildoptions.Keep(cc, opts)}
}

// Owner is a ClientConn that knows what its balancers are built with, which need not be
// kept for it then.
type Owner interface {
	balancer.ClientConn
	buildoptions.Owner
}

// Init makes of a zero Balancer what New would have made.
func (b *Balancer) Init(cc Owner) { b.cc = cc }

// Tidy is a Builder whose policies look after their SubConns alone: they shut them down in
// Close, give each a StateListener, and have a lock where these run beside other calls. Then
// the Balancer has nothing to do with their SubConns, and nothing to keep of them.
type Tidy interface {
	balancer.Builder

	// Tidy does nothing: it marks the Builder. Without it all is right, too, for a few bytes more.
	Tidy()
}

// SwitchTo builds a policy and begins to switch to it. A policy that is still pending
// from an earlier switch is given up.
func (b *Balancer) SwitchTo(builder balancer.Builder) error {
	c := &child{parent: b, name: unique.Make(builder.Name()), tidy: isTidy(builder)}
	replaced, err := b.install(c)
	if err != nil {
		return err
	}
	replaced.close()
	if !c.build(builder, b.opts.Of(b.cc)) {
		b.uninstall(c)
		return fmt.Errorf("gracefulswitch: the builder of %q built nothing", c.name.Value())
	}
	return nil
}

func isTidy(builder balancer.Builder) bool {
	_, ok := builder.(Tidy)
	return ok
}

// install makes c the latest child and returns the pending one that it replaces, if any.
func (b *Balancer) install(c *child) (replaced *child, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.current {
	case over:
		return nil, errClosed
	case nil:
		b.current = c
		return nil, nil
	}
	replaced = b.pending.of()
	b.pending = &pending{c, balancer.State{ConnectivityState: connectivity.Connecting, Picker: waiting}}
	return replaced, nil
}

// of returns the child, nil for none.
func (p *pending) of() *child {
	if p == nil {
		return nil
	}
	return p.child
}

func (b *Balancer) uninstall(c *child) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c {
	case b.current:
		b.current, b.pending = b.pending.of(), nil
	case b.pending.of():
		b.pending = nil
	}
}

// latest returns the child that the resolver's news are for, nil when there is none.
func (b *Balancer) latest() *child {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.pending != nil:
		return b.pending.child
	case b.current == over:
		return nil
	}
	return b.current
}

// UpdateClientConnState passes the state to the latest child. With a *Config it switches
// first if the child it names is another than the latest.
func (b *Balancer) UpdateClientConnState(state balancer.ClientConnState) error {
	c := b.latest()
	if config, ok := state.BalancerConfig.(*Config); ok {
		if c == nil || c.name.Value() != config.Child.Name() {
			if err := b.SwitchTo(config.Child); err != nil {
				return fmt.Errorf("%w: %w", balancer.ErrBadResolverState, err)
			}
			c = b.latest()
		}
		state.BalancerConfig = config.ChildConfig
	}
	if c == nil {
		return errClosed
	}
	err := errClosed
	c.call(func(policy balancer.Balancer) { err = policy.UpdateClientConnState(state) })
	return err
}

// ResolverError passes the error to the latest child; before there is one it makes the
// channel fail RPCs with it.
func (b *Balancer) ResolverError(err error) {
	if c := b.latest(); c != nil {
		c.call(func(policy balancer.Balancer) { policy.ResolverError(err) })
		return
	}
	b.cc.UpdateState(balancer.State{
		ConnectivityState: connectivity.TransientFailure,
		Picker:            base.NewErrPicker(err),
	})
}

// ExitIdle passes the call to the latest child.
func (b *Balancer) ExitIdle() {
	if c := b.latest(); c != nil {
		c.call(balancer.Balancer.ExitIdle)
	}
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (b *Balancer) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// Close closes the children. What they still report is dropped.
func (b *Balancer) Close() {
	b.mu.Lock()
	current, pending := b.current, b.pending.of()
	b.current, b.pending = over, nil
	b.mu.Unlock()
	if current != over {
		current.close()
	}
	pending.close()
}

// report takes a child's state.
func (b *Balancer) report(c *child, s balancer.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c {
	case b.current:
		c.ready = s.ConnectivityState == connectivity.Ready
		if b.pending != nil && !c.ready {
			b.promote()
			return
		}
		b.cc.UpdateState(s)
	case b.pending.of():
		b.pending.last = s
		if s.ConnectivityState != connectivity.Connecting || !b.current.ready {
			b.promote()
		}
	}
}

// promote makes the pending child the current one. b.mu is held.
func (b *Balancer) promote() {
	old, now := b.current, b.pending.last
	b.current, b.pending = b.pending.child, nil
	b.current.ready = now.ConnectivityState == connectivity.Ready
	b.cc.UpdateState(now)
	// The old child may be in the middle of the call that led here, and cannot be
	// closed before it returns.
	go old.close()
}

// isChild says whether c is in use. b.mu is held.
func (b *Balancer) isChild(c *child) bool {
	return c == b.current || c == b.pending.of()
}

// adopt notes that a SubConn is c's, for its listener in *as, where it stays, unless c is not
// in use any more.
func (b *Balancer) adopt(c *child, sc balancer.SubConn, as *balancer.SubConn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isChild(c) {
		return false
	}
	*as = sc
	c.subConns.Add(as)
	return true
}

// adopted returns the SubConn that adopt noted, nil before that, and forgets it if it is
// over.
func (b *Balancer) adopted(c *child, as *balancer.SubConn, over bool) balancer.SubConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if over {
		c.subConns.Remove(as)
	}
	return *as
}

// orphans returns the SubConns that c leaves behind.
func (b *Balancer) orphans(c *child) subconns.Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := c.subConns
	c.subConns = subconns.Set{}
	return left
}

// resolveNow passes on the request of the latest child: others have nothing to gain.
func (b *Balancer) resolveNow(c *child, o resolver.ResolveNowOptions) {
	if b.latest() == c {
		b.cc.ResolveNow(o)
	}
}

// child is one policy, and the ClientConn that it was built with.
type child struct {
	internal.ClientConnSeal

	parent *Balancer
	name   unique.Handle[string]

	// calls is held during each call into the policy: those of the parent, those of
	// SubConns and the last one, Close, which comes from a goroutine of its own.
	calls  sync.Mutex
	policy balancer.Balancer // nil before it is built and after it is closed

	tidy bool // its SubConns are its own business; immutable

	// The parent's lock guards the rest.
	ready    bool // says the current child, as far as it has reported anything
	subConns subconns.Set
}

// build says whether the builder built something.
func (c *child) build(builder balancer.Builder, opts balancer.BuildOptions) bool {
	c.calls.Lock()
	defer c.calls.Unlock()
	c.policy = builder.Build(c, opts)
	return c.policy != nil
}

// call calls f with the policy, unless it is closed.
func (c *child) call(f func(balancer.Balancer)) {
	c.calls.Lock()
	defer c.calls.Unlock()
	if c.policy != nil {
		f(c.policy)
	}
}

// close closes the policy and shuts down what SubConns it left. c may be nil.
func (c *child) close() {
	if c == nil {
		return
	}
	var closed balancer.Balancer
	c.call(func(policy balancer.Balancer) {
		policy.Close()
		c.policy, closed = nil, policy
	})
	for sc := range c.parent.orphans(c).Left(closed).All {
		sc.Shutdown()
	}
}

// BuildOptions implements buildoptions.Owner.
func (c *child) BuildOptions() balancer.BuildOptions { return c.parent.opts.Of(c.parent.cc) }

// UpdateState implements balancer.ClientConn.
func (c *child) UpdateState(s balancer.State) {
	c.parent.report(c, s)
}

// ResolveNow implements balancer.ClientConn.
func (c *child) ResolveNow(o resolver.ResolveNowOptions) {
	c.parent.resolveNow(c, o)
}

// NewSubConn implements balancer.ClientConn.
func (c *child) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	if c.tidy {
		//lint:ignore SA1019 a policy may still give several addresses
		return c.parent.cc.NewSubConn(addrs, opts)
	}
	listener := opts.StateListener
	var adopted balancer.SubConn // the parent's lock guards it
	opts.StateListener = func(s balancer.SubConnState) {
		sc := c.parent.adopted(c, &adopted, s.ConnectivityState == connectivity.Shutdown)
		c.call(func(policy balancer.Balancer) {
			if listener != nil {
				listener(s)
				return
			}
			//lint:ignore SA1019 a policy without listeners still gets its states
			policy.UpdateSubConnState(sc, s)
		})
	}
	//lint:ignore SA1019 a policy may still give several addresses
	sc, err := c.parent.cc.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	if !c.parent.adopt(c, sc, &adopted) {
		sc.Shutdown()
		return nil, errClosed
	}
	return sc, nil
}

// Target implements balancer.ClientConn.
//
//lint:ignore SA1019 it has to be passed on
func (c *child) Target() string { return c.parent.cc.Target() }

// MetricsRecorder implements balancer.ClientConn.
func (c *child) MetricsRecorder() stats.MetricsRecorder { return c.parent.cc.MetricsRecorder() }

// RemoveSubConn implements balancer.ClientConn.
func (c *child) RemoveSubConn(sc balancer.SubConn) {
	c.parent.cc.RemoveSubConn(sc)
}

// UpdateAddresses implements balancer.ClientConn.
func (c *child) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	//lint:ignore SA1019 a policy may still use it
	c.parent.cc.UpdateAddresses(sc, addrs)
}
