// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
)

// Init makes ch a channel, in idle mode. It keeps o, which must not change. parent is its
// parent in channelz, or nil.
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

// Node is the channel in channelz.
func (ch *Channel) Node() *channelz.Node { return ch.node }

// Wake takes the channel out of idle mode. The error says that the resolver could not be
// built; the channel's state shows that, too.
func (ch *Channel) Wake() error { return ch.idle.wake() }

// BeginRPC counts an RPC, which keeps the channel from going idle, and wakes it. EndRPC
// must follow.
func (ch *Channel) BeginRPC() { ch.idle.begin() }

// EndRPC counts the end of an RPC.
func (ch *Channel) EndRPC() { ch.idle.end() }

// RPCs is how many RPCs are counted at present.
func (ch *Channel) RPCs() int { return ch.idle.rpcs() }

// Connect makes an idle channel connect, without waiting for it.
func (ch *Channel) Connect() {
	_ = ch.idle.wake() // the state tells
	ch.mu.Lock()
	b := ch.balancer
	ch.mu.Unlock()
	if b != nil {
		b.exitIdle()
	}
}

// ResetConnectBackoff makes every subchannel that waits after a failure try again at
// once, and the pauses begin anew.
func (ch *Channel) ResetConnectBackoff() {
	ch.mu.Lock()
	list := slices.Clone(ch.subConns)
	ch.mu.Unlock()
	for _, sub := range list {
		sub.resetBackoff()
	}
}

// Close ends the channel and its connections at once: later RPCs fail with ErrClosing. It
// waits for the balancer's Close, so a balancer must not call it. It returns false if the
// channel was closed before.
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
	closed := parts.close()
	for _, l := range links {
		l.client.Close(ErrClosing)
	}
	for _, l := range links {
		l.tellEnd()
	}
	if closed != nil {
		<-closed
	}
	return true
}

// activeParts are those that a channel has while it is neither idle nor closed.
type activeParts struct {
	resolver *resolverWrapper
	balancer *balancerWrapper
	subConns []*Subchannel
	selector *selectorTurn
}

// detach takes the active parts away from the channel. mu is held.
func (ch *Channel) detach() activeParts {
	p := activeParts{ch.resolver, ch.balancer, ch.subConns, ch.dropSelectorLocked()}
	ch.resolver, ch.balancer, ch.subConns = nil, nil, nil
	return p
}

// close returns a channel that is closed when the balancer's Close has returned, nil if
// there is none.
func (p activeParts) close() (closed <-chan struct{}) {
	p.selector.end()
	if p.resolver != nil {
		p.resolver.close()
		closed = p.balancer.close()
	}
	for _, sub := range p.subConns {
		sub.tearDown()
	}
	return closed
}

// enterIdle gives up connections and resolver until somebody needs them. It is called when
// there are no RPCs.
func (ch *Channel) enterIdle() {
	ch.mu.Lock()
	if ch.closed {
		ch.mu.Unlock()
		return
	}
	parts := ch.detach()
	ch.mu.Unlock()
	parts.close() // from here on the balancer can't change picker or state
	ch.picks.set(nil)
	ch.setState(connectivity.Idle)
	ch.node.Trace(channelz.Info, "Channel entering idle mode", nil)
}

// leaveIdle has the target resolved. A resolver that can't be built counts as one that
// failed.
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
	if err := r.start(); err != nil {
		logger.Warningf("%s: failed to start resolver: %v", ch.Name, err)
		ch.resolverFailed(r, err)
		return fmt.Errorf("failed to exit idle mode: failed to start resolver: %w", err)
	}
	return nil
}

// State is the channel's connectivity state. To ask for it does not make an idle channel
// connect.
func (ch *Channel) State() connectivity.State { return ch.state.get() }

// WaitForStateChange waits until the state is another than s and returns true, or false if
// ctx ends first.
func (ch *Channel) WaitForStateChange(ctx context.Context, s connectivity.State) bool {
	return ch.state.wait(ctx, s)
}
