// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"

	"google.golang.org/grpc/connectivity"
)

// addSubConn adds a new subchannel to the channel's list. It returns false if b is not the
// channel's balancer any more.
func (ch *Channel) addSubConn(b *balancerWrapper, sub *Subchannel) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.closed || ch.balancer != b {
		return false
	}
	ch.subConns = append(ch.subConns, sub)
	return true
}

func (ch *Channel) removeSubConn(sub *Subchannel) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if i := slices.Index(ch.subConns, sub); i >= 0 {
		ch.subConns = slices.Delete(ch.subConns, i, i+1)
	}
}

// addLink adds an open connection to the channel's list, so that Close finds it. It returns false
// if the channel is closed.
func (ch *Channel) addLink(l *Link) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.closed {
		return false
	}
	ch.links = append(ch.links, l)
	return true
}

func (ch *Channel) removeLink(l *Link) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if i := slices.Index(ch.links, l); i >= 0 {
		last := len(ch.links) - 1
		ch.links[i], ch.links[last] = ch.links[last], nil
		ch.links = ch.links[:last]
	}
}

func (ch *Channel) setConnErr(err error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.connErr = err
}

// setState changes the channel's state and calls OnState.
func (ch *Channel) setState(s connectivity.State) {
	if ch.opts.OnState == nil {
		ch.state.set(s, nil)
		return
	}
	err := ch.LastConnErr()
	ch.state.set(s, func(s connectivity.State) { ch.opts.OnState(s, err) })
}

// LastConnErr returns the error of the last attempt to connect that failed, or nil if none did.
func (ch *Channel) LastConnErr() error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.connErr
}

// current returns the balancer if r is still the channel's resolver.
func (ch *Channel) current(r *resolverWrapper) *balancerWrapper {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.closed || ch.resolver != r {
		return nil
	}
	return ch.balancer
}
