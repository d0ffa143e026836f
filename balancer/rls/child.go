// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/balancer/serial"
)

// hold returns the child of a target, and makes one if there is none. The caller must hold mu. For
// a new child, it calls tell after it has released mu.
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

// drop undoes a hold. The caller must hold mu and call collect afterwards.
func (b *lb) drop(c *child) {
	if c.refs--; c.refs == 0 {
		b.cache.targets--
		b.unheld = append(b.unheld, c)
	}
}

// release drops all children of an answer. The caller must hold mu and call collect afterwards.
func (b *lb) release(e *answer) {
	for _, c := range e.targets {
		b.drop(c)
	}
	e.targets = nil
}

// collect removes and returns the children that nothing holds any more. The caller must hold mu,
// and closes the children after it has released mu.
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

// tell passes the current state to a child. It returns no error for a child that nothing holds any more, even if
// that became so during the call.
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

// isGone reports whether c is closed or about to be closed. The caller must hold mu.
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
	// After a failure, Connecting still counts as failed.
	if c.state.ConnectivityState == connectivity.TransientFailure && s.ConnectivityState == connectivity.Connecting {
		return
	}
	b.states[c.state.ConnectivityState]--
	b.states[s.ConnectivityState]++
	c.state = s
	b.publish()
}
