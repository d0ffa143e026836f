// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/balancer/serial"
)

// hold returns the child of a target, and makes it if there is none. Whoever gets one tells it
// its state when mu is no more held. mu is held.
func (b *lb) hold(target string) *child {
	c := b.children[target]
	if c == nil {
		c = &child{
			ClientConn: b.cc, lb: b, target: target,
			state: balancer.State{ConnectivityState: connectivity.Connecting, Picker: base.NewErrPicker(balancer.ErrNoSubConnAvailable)},
		}
		c.policy = serial.New(c)
		b.children[target] = c
		b.states[c.state.ConnectivityState]++
	}
	if c.refs++; c.refs == 1 {
		b.cache.targets++
	}
	return c
}

// drop takes back a hold. collect has to follow. mu is held.
func (b *lb) drop(c *child) {
	if c.refs--; c.refs == 0 {
		b.cache.targets--
		b.unheld = append(b.unheld, c)
	}
}

// release gives up what an answer holds. collect has to follow. mu is held.
func (b *lb) release(e *answer) {
	for _, c := range e.targets {
		b.drop(c)
	}
	e.targets = nil
}

// collect returns the children that nobody holds any more. They are to be closed when mu is
// not held. mu is held.
func (b *lb) collect() (dead []*child) {
	for _, c := range b.unheld {
		if c.refs == 0 && b.children[c.target] == c {
			delete(b.children, c.target)
			b.states[c.state.ConnectivityState]--
			dead = append(dead, c)
		}
	}
	b.unheld = nil
	return dead
}

func closeAll(children []*child) {
	for _, c := range children {
		c.policy.Close()
	}
}

// tell gives a child the present state. That one which nobody holds any more can't take it is no error, also where
// that comes about meanwhile.
func (b *lb) tell(c *child) error {
	b.applying.Lock()
	defer b.applying.Unlock()
	b.mu.Lock()
	config, state, gone := b.config, b.state, b.isGone(c)
	b.mu.Unlock()
	if gone {
		return nil
	}
	policy, err := config.child(c.target)
	if err != nil {
		c.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: base.NewErrPicker(err)})
		return err
	}
	if !c.built {
		c.built = true
		c.policy.Build(c.build, b.opts)
	}
	err = c.policy.UpdateClientConnState(balancer.ClientConnState{ResolverState: state, BalancerConfig: policy})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isGone(c) {
		return nil
	}
	return err
}

// isGone reports whether c is closed, or about to be. mu is held.
func (b *lb) isGone(c *child) bool { return b.closed || b.children[c.target] != c }

func (*child) build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return gracefulswitch.New(cc, opts)
}

// UpdateState implements balancer.ClientConn.
func (c *child) UpdateState(s balancer.State) {
	b := c.lb
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.children[c.target] != c {
		return
	}
	// Between a failure and the next Ready it counts as failed.
	if c.state.ConnectivityState == connectivity.TransientFailure && s.ConnectivityState == connectivity.Connecting {
		return
	}
	b.states[c.state.ConnectivityState]--
	b.states[s.ConnectivityState]++
	c.state = s
	b.publish()
}
