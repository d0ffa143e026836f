// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
)

// Init makes ch a channel in idle mode. ch keeps o, which must not change any more. parent is the
// channel's parent in channelz, or nil.
func (ch *Channel) Init(to Target, o *Options, owner Owner, parent *channelz.Node) {
	ch.Target, ch.opts, ch.owner = to, o, owner
	ch.transport.Store(&o.Transport)
	ch.node = channelz.NewNode(parent, channelz.Channel, to.Name)
	ch.state.node = ch.node
	if ch.node != nil {
		ch.node.Trace(channelz.Info, fmt.Sprintf("parsed dial target is: %#v", ch.Parsed()), nil)
		ch.node.Trace(channelz.Info, fmt.Sprintf("Channel authority set to %q", ch.authority), nil)
	}
	ch.idle.timeout, ch.idle.owner = o.IdleTimeout, ch
	ch.idle.start()
}

// Node returns the channel's node in channelz.
func (ch *Channel) Node() *channelz.Node { return ch.node }

// Wake takes the channel out of idle mode. It returns an error if the resolver could not be built;
// the channel's state shows that, too.
func (ch *Channel) Wake() error { return ch.idle.wake() }

// BeginRPC counts an RPC and takes the channel out of idle mode. The channel does not go idle
// before the caller calls EndRPC, which it must do once.
func (ch *Channel) BeginRPC() { ch.idle.begin() }

// EndRPC counts the end of an RPC.
func (ch *Channel) EndRPC() { ch.idle.end() }

// RPCs returns how many RPCs have begun and not ended.
func (ch *Channel) RPCs() int { return ch.idle.rpcs() }

// Connect makes an idle channel connect, without waiting for it.
func (ch *Channel) Connect() {
	_ = ch.idle.wake() // the channel's state shows an error
	ch.mu.Lock()
	b := ch.balancer
	ch.mu.Unlock()
	if b != nil {
		b.exitIdle()
	}
}

// ResetConnectBackoff ends the back-off of every subchannel that waits after a failure. The next
// back-off of each subchannel is as short as the first.
func (ch *Channel) ResetConnectBackoff() {
	ch.mu.Lock()
	list := slices.Clone(ch.subConns)
	ch.mu.Unlock()
	for _, sub := range list {
		sub.resetBackoff()
	}
}

// Close closes the channel and its connections at once. Later RPCs fail with ErrClosing. Close
// waits for the balancer's Close, so a balancer must not call it. It returns false if the channel
// was closed before.
func (ch *Channel) Close() bool {
	ch.idle.close()
	ch.mu.Lock()
	if ch.closed {
		ch.mu.Unlock()
		return false
	}
	ch.closed = true
	ch.answeredLocked()
	parts := ch.detach()
	links := ch.links
	ch.links = nil
	ch.mu.Unlock()

	ch.setState(connectivity.Shutdown)
	ch.picks.close()
	ends := make([]func(), len(links))
	for i, l := range links { // before the balancer, or anything else, closes l: handlers are told before Close returns
		ends[i] = l.claimEnd()
	}
	closed := parts.closeAnd(true, func(left []*Link) { closeAll(links, left, ends) })
	if parts.resolver == nil { // the channel was idle
		closed = ch.leaving
	}
	if closed.resolver != nil {
		await(closed.resolver, closePatience)
	}
	if closed.balancer != nil {
		<-closed.balancer
	}
	return true
}

// closeAll closes links, and tells their ends. left are those whose subchannels are
// retired. All of that happens also if recorders leave by a panic or end the goroutine.
func closeAll(links, left []*Link, ends []func()) {
	for _, end := range ends {
		defer end()
	}
	defer func() {
		for _, l := range links {
			l.client.Close(ErrClosing)
		}
	}()
	retireAll(left)
}

// activeParts are the parts that a channel has only while it is neither idle nor closed.
type activeParts struct {
	resolver *resolverWrapper
	balancer *balancerWrapper
	subConns []*Subchannel
	selector *selectorTurn
}

// detach removes the active parts from the channel and returns them. The caller must hold mu.
func (ch *Channel) detach() activeParts {
	p := activeParts{ch.resolver, ch.balancer, ch.subConns, ch.dropSelectorLocked()}
	ch.resolver, ch.balancer, ch.subConns = nil, nil, nil
	return p
}

// closeAnd closes the parts, and then calls then with the connections that are left, to be retired. All of that happens
// also if code of the program, such as the resolver's Close, leaves by a panic or ends the goroutine. wait says whether
// closeAnd may wait for a resolver that is being asked.
func (p activeParts) closeAnd(wait bool, then func(left []*Link)) (closed partsClosed) {
	var left []*Link
	defer func() { then(left) }()
	defer tearDownAll(p.subConns, &left)
	if p.resolver != nil {
		defer func() { closed.balancer = p.balancer.close() }()
		defer func() { closed.resolver = p.resolver.close(wait) }()
	}
	p.selector.end()
	return closed
}

// partsClosed tells when the Close of a resolver and of a balancer have returned, by channels that are closed then. A
// nil channel says that nothing is waited for.
type partsClosed struct{ resolver, balancer <-chan struct{} }

// await waits until both have returned, for a while at most: they may wait for who calls it.
func (c partsClosed) await() {
	for _, done := range [...]<-chan struct{}{c.resolver, c.balancer} {
		if done != nil {
			await(done, closePatience)
		}
	}
}

// tearDownAll tears down the subchannels, and adds their connections to left.
func tearDownAll(subs []*Subchannel, left *[]*Link) {
	defer func() {
		if len(subs) > 0 { // a producer has left by a panic or Goexit
			tearDownAll(subs, left)
		}
	}()
	for len(subs) > 0 {
		sub := subs[0]
		subs = subs[1:]
		sub.tearDown(left)
	}
}

// enterIdle gives up the resolver, the balancer and the connections; leaveIdle makes new ones.
// idleness calls it while there are no RPCs, and leaveIdle if it fails.
func (ch *Channel) enterIdle() {
	ch.mu.Lock()
	if ch.closed {
		ch.mu.Unlock()
		return
	}
	parts := ch.detach()
	ch.mu.Unlock()
	ch.leaving = parts.closeAnd(false, func(left []*Link) { // from here on the balancer can't change the picker or the state
		ch.picks.set(nil)
		ch.setState(connectivity.Idle)
		ch.node.Trace(channelz.Info, "Channel entering idle mode", nil)
		ch.retireApart(left, nil)
	})
}

// leaveIdle builds the resolver and the balancer, once those before are closed: they may be the same, or
// share what they close. If the resolver can't be built, the channel acts as if it had been built and had
// reported the error. If Build panics or ends its goroutine, the channel stays idle, as the program may
// recover.
func (ch *Channel) leaveIdle() error {
	ch.mu.Lock()
	if ch.closed || ch.resolver != nil {
		ch.mu.Unlock()
		return nil
	}
	b := newBalancerWrapper(ch)
	r := &resolverWrapper{ch: ch}
	ch.balancer, ch.resolver = b, r
	ch.mu.Unlock()
	ch.setState(connectivity.Connecting)
	ch.node.Trace(channelz.Info, "Channel exiting idle mode", nil)
	ch.leaving.await()
	ch.leaving = partsClosed{}
	returned := false
	defer func() {
		if !returned {
			ch.enterIdle()
		}
	}()
	err := r.start()
	returned = true
	if err != nil {
		logger.Warningf("%s: failed to start resolver: %v", ch.Name, err)
		ch.resolverFailed(r, err)
		return fmt.Errorf("failed to exit idle mode: failed to start resolver: %w", err)
	}
	return nil
}

// State returns the channel's connectivity state. It does not make an idle channel connect.
func (ch *Channel) State() connectivity.State { return ch.state.get() }

// WaitForStateChange waits until the state differs from s and returns true. It returns false if ctx
// ends first.
func (ch *Channel) WaitForStateChange(ctx context.Context, s connectivity.State) bool {
	return ch.state.wait(ctx, s)
}
