// SPDX-License-Identifier: Apache-2.0

// Package serial holds a child policy for a parent that reaches it from more than one
// goroutine: calls go to the child one at a time, as every policy may expect, and what
// SubConns it leaves behind are shut down.
package serial

import (
	"errors"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/subconns"
	"google.golang.org/grpc/resolver"
)

var errClosed = errors.New("serial: the policy is closed")

// Child is a policy and the ClientConn that it is built with. All but the SubConns is
// passed to the ClientConn that New was given. Health listeners are not in the line:
// policies that register them have a lock of their own.
//
// Lock order: a Child's call comes before all locks of its parent, so the parent holds
// none when it calls down. A call to the child must not be made from within another.
type Child struct {
	balancer.ClientConn

	// calls is held during each call into the policy: the parent's, and those of its
	// SubConns' listeners.
	calls  sync.Mutex
	policy balancer.Balancer // nil before it is built and after it is closed

	mu       sync.Mutex
	closed   bool
	subConns subconns.Set
}

// New returns a Child without a policy, which reports to cc.
func New(cc balancer.ClientConn) *Child {
	c := &Child{}
	c.Init(cc)
	return c
}

// Init makes of a zero Child what New would have made.
func (c *Child) Init(cc balancer.ClientConn) { c.ClientConn = cc }

// BuildOptions implements buildoptions.Owner.
func (c *Child) BuildOptions() balancer.BuildOptions { return buildoptions.Of(c.ClientConn) }

// Build builds the policy, once, and not after Close.
func (c *Child) Build(build func(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer, opts balancer.BuildOptions) {
	c.calls.Lock()
	defer c.calls.Unlock()
	if !c.isClosed() {
		c.policy = build(c, opts)
	}
}

// Call calls f with the policy, unless there is none.
func (c *Child) Call(f func(balancer.Balancer)) {
	c.calls.Lock()
	defer c.calls.Unlock()
	if c.policy != nil {
		f(c.policy)
	}
}

// UpdateClientConnState calls the policy's.
func (c *Child) UpdateClientConnState(s balancer.ClientConnState) error {
	err := errClosed
	c.Call(func(policy balancer.Balancer) { err = policy.UpdateClientConnState(s) })
	return err
}

// ResolverError calls the policy's.
func (c *Child) ResolverError(err error) {
	c.Call(func(policy balancer.Balancer) { policy.ResolverError(err) })
}

// ExitIdle calls the policy's.
func (c *Child) ExitIdle() {
	c.Call(balancer.Balancer.ExitIdle)
}

// Close closes the policy and shuts down what SubConns it left.
func (c *Child) Close() {
	for sc := range c.closePolicy().All {
		sc.Shutdown()
	}
}

// closePolicy returns the SubConns that are left.
func (c *Child) closePolicy() subconns.Set {
	c.calls.Lock()
	defer c.calls.Unlock()
	policy := c.policy
	if policy != nil {
		policy.Close()
		c.policy = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.subConns.Left(policy)
	c.subConns, c.closed = subconns.Set{}, true
	return left
}

func (c *Child) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// NewSubConn implements balancer.ClientConn.
func (c *Child) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	listener := opts.StateListener
	var sc balancer.SubConn
	opts.StateListener = func(s balancer.SubConnState) {
		if s.ConnectivityState == connectivity.Shutdown {
			c.forget(&sc)
		}
		c.Call(func(policy balancer.Balancer) {
			if listener != nil {
				listener(s)
				return
			}
			//lint:ignore SA1019 a policy without listeners still gets its states
			policy.UpdateSubConnState(sc, s)
		})
	}
	// sc is written before anybody can call Connect, and so before the listener runs.
	//lint:ignore SA1019 a policy may still give several addresses
	sc, err := c.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	if !c.adopt(&sc) {
		sc.Shutdown()
		return nil, errClosed
	}
	return sc, nil
}

// RemoveSubConn implements balancer.ClientConn.
func (c *Child) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses implements balancer.ClientConn.
func (c *Child) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	//lint:ignore SA1019 a policy may still use it
	sc.UpdateAddresses(addrs)
}

// adopt notes a SubConn, which stays where it is, unless the policy is closed.
func (c *Child) adopt(sc *balancer.SubConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.subConns.Add(sc)
	}
	return !c.closed
}

func (c *Child) forget(sc *balancer.SubConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subConns.Remove(sc)
}
