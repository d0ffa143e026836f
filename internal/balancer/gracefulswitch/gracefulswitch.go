// SPDX-License-Identifier: Apache-2.0

// Package gracefulswitch replaces the policy of a balancer without a gap: the old policy serves
// RPCs until the new one is ready to take over.
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

	// over is the current child of a closed Balancer. It has no policy.
	over = &child{}
)

// Balancer has one child policy, or two during a switch: the current one, whose picker the channel
// uses, and the pending one. The pending one takes over as soon as it reports a state other than
// Connecting, or the current one is not Ready.
//
// The caller must not call its methods concurrently, as with every Balancer. The children may call
// their ClientConn at any time.
//
// Lock order: child.calls, then Balancer.mu. The Balancer holds mu while it calls its ClientConn's
// UpdateState, so the channel sees states in the order in which they took effect.
type Balancer struct {
	// Immutable.
	cc   balancer.ClientConn
	opts buildoptions.Kept

	mu      sync.Mutex
	current *child   // nil before the first switch
	pending *pending // nil unless there is a switch under way

	closing sync.WaitGroup // of children that lost their place; nothing is added once current is over
}

// pending is the child that will take over, and the state that it reported last.
type pending struct {
	*child
	last balancer.State
}

// New returns a Balancer without a policy. It does nothing until SwitchTo, or until
// UpdateClientConnState with a *Config.
func New(cc balancer.ClientConn, opts balancer.BuildOptions) *Balancer {
	return &Balancer{cc: cc, opts: buildoptions.Keep(cc, opts)}
}

// Owner is a ClientConn that knows the BuildOptions of its balancers, so its Balancer keeps no
// copy.
type Owner interface {
	balancer.ClientConn
	buildoptions.Owner
}

// Init makes a zero Balancer equal to one that New returns.
func (b *Balancer) Init(cc Owner) { b.cc = cc }

// Tidy is a Builder whose policies manage their SubConns by themselves: they shut them down in
// Close, give each a StateListener, and guard their own state if a listener runs concurrently with
// other calls. The Balancer then keeps no record of their SubConns and does not wrap their
// listeners.
type Tidy interface {
	balancer.Builder

	// Tidy does nothing: it marks the Builder. A Builder without it works, too, but its policies
	// take a few bytes more.
	Tidy()
}

// SwitchTo builds a policy and begins to switch to it. It closes a policy that is still pending
// from an earlier switch.
func (b *Balancer) SwitchTo(builder balancer.Builder) error {
	c := &child{parent: b, name: unique.Make(builder.Name()), tidy: isTidy(builder)}
	replaced, err := b.install(c)
	if err != nil {
		return err
	}
	built := false
	defer func() {
		if !built { // or Build, or the Close of the one that is replaced, has left by a panic or Goexit
			b.uninstall(c)
			c.abandon(nil)
		}
	}()
	replaced.close()
	if built = c.build(builder, b.opts.Of(b.cc)); !built {
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

// of returns the pending child, or nil if p is nil.
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

// latest returns the child that gets the resolver's updates: the pending one, or else the current
// one. It returns nil if there is none.
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

// UpdateClientConnState passes the state to the latest child. If the state has a *Config that names
// another policy than the latest child's, it switches to that policy first.
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

// ResolverError passes the error to the latest child. If there is none, RPCs fail with the error.
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

// UpdateSubConnState is never called, as every SubConn has a listener.
func (b *Balancer) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// Close closes the children, and returns when those that it replaced are closed, too. It ignores what
// they report after that.
func (b *Balancer) Close() {
	b.mu.Lock()
	current, pending := b.current, b.pending.of()
	b.current, b.pending = over, nil
	b.mu.Unlock()
	defer b.closing.Wait()
	defer pending.close() // also if the other leaves by a panic or Goexit
	if current != over {
		current.close()
	}
}

// report handles a state that the child c reports.
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

// promote makes the pending child the current one. The caller must hold b.mu.
func (b *Balancer) promote() {
	old, now := b.current, b.pending.last
	b.current, b.pending = b.pending.child, nil
	b.current.ready = now.ConnectivityState == connectivity.Ready
	b.cc.UpdateState(now)
	// This may run within a call of the old child, which cannot be closed before that call returns.
	b.closing.Go(old.close)
}

// isChild reports whether c is the current or the pending child. The caller must hold b.mu.
func (b *Balancer) isChild(c *child) bool {
	return c == b.current || c == b.pending.of()
}

// adopt records that the SubConn sc is c's. It stores sc in *as, where sc's listener finds it. The
// pointer as identifies the SubConn and must stay valid. It returns false if c is neither the
// current nor the pending child any more.
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

// adopted returns the SubConn that adopt stored in *as, or nil before that. If over is true, it
// also removes the SubConn from c's.
func (b *Balancer) adopted(c *child, as *balancer.SubConn, over bool) balancer.SubConn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if over {
		c.subConns.Remove(as)
	}
	return *as
}

// orphans removes c's SubConns from c and returns them. c is closed.
func (b *Balancer) orphans(c *child) subconns.Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := c.subConns
	c.subConns = subconns.Set{}
	return left
}

// resolveNow passes on the request if c is the latest child: no other child gets the resolver's
// updates.
func (b *Balancer) resolveNow(c *child, o resolver.ResolveNowOptions) {
	if b.latest() == c {
		b.cc.ResolveNow(o)
	}
}

// child is one policy, and also the ClientConn that the policy was built with.
type child struct {
	internal.ClientConnSeal

	parent *Balancer
	name   unique.Handle[string]

	// calls is held during each call of the policy: calls of the parent, calls of SubConns'
	// listeners, and Close, which may come from a goroutine of its own.
	calls  sync.Mutex
	policy balancer.Balancer // nil until it is built, and once it is closed

	tidy bool // its Builder is Tidy: it manages its SubConns itself; immutable

	// The parent's lock guards the rest.
	ready    bool // the last state that it reported is Ready; only the current child's is kept up to date
	subConns subconns.Set
}

// build builds the policy. It returns false if the builder returned nil.
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

// close closes the policy and shuts down the SubConns that it left open. c may be nil.
func (c *child) close() {
	if c == nil {
		return
	}
	var closed balancer.Balancer
	defer func() { c.abandon(closed) }() // also if Close leaves by a panic or Goexit
	c.call(func(policy balancer.Balancer) {
		defer func() { c.policy = nil }()
		policy.Close()
		closed = policy
	})
}

// abandon shuts down the SubConns that are left, of the policy that was closed. It is nil if none was.
func (c *child) abandon(closed balancer.Balancer) {
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
