// SPDX-License-Identifier: Apache-2.0

// Package serial wraps a child policy for a parent that calls it from more than one goroutine. The
// child gets one call at a time, as every policy may expect. When it is closed, the wrapper shuts
// down the SubConns that it left open.
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

// Child is a policy, and also the ClientConn that the policy is built with. It passes everything
// except SubConns on to the ClientConn that New got. Calls of health listeners are not serialized:
// policies that register them have a lock of their own.
//
// Lock order: Child.calls comes before all locks of the parent, so the parent must hold none when
// it calls a method of Child. A call of the policy must not lead to another call of it.
type Child struct {
	balancer.ClientConn

	// calls is held during each call of the policy: calls of the parent, and calls of SubConns'
	// listeners.
	calls  sync.Mutex
	policy balancer.Balancer // nil until it is built, and once it is closed

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

// Init makes a zero Child equal to one that New returns.
func (c *Child) Init(cc balancer.ClientConn) { c.ClientConn = cc }

// BuildOptions implements buildoptions.Owner.
func (c *Child) BuildOptions() balancer.BuildOptions { return buildoptions.Of(c.ClientConn) }

// Build builds the policy, unless the Child is closed. The parent calls it once.
func (c *Child) Build(build func(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer, opts balancer.BuildOptions) {
	c.calls.Lock()
	defer c.calls.Unlock()
	if !c.isClosed() {
		c.policy = build(c, opts)
	}
}

// Call calls f with the policy, unless it is not built or is closed.
func (c *Child) Call(f func(balancer.Balancer)) {
	c.calls.Lock()
	defer c.calls.Unlock()
	if c.policy != nil {
		f(c.policy)
	}
}

// UpdateClientConnState calls the policy's UpdateClientConnState.
func (c *Child) UpdateClientConnState(s balancer.ClientConnState) error {
	err := errClosed
	c.Call(func(policy balancer.Balancer) { err = policy.UpdateClientConnState(s) })
	return err
}

// ResolverError calls the policy's ResolverError.
func (c *Child) ResolverError(err error) {
	c.Call(func(policy balancer.Balancer) { policy.ResolverError(err) })
}

// ExitIdle calls the policy's ExitIdle.
func (c *Child) ExitIdle() {
	c.Call(balancer.Balancer.ExitIdle)
}

// Close closes the policy and shuts down the SubConns that it left open.
func (c *Child) Close() {
	for sc := range c.closePolicy().All {
		sc.Shutdown()
	}
}

// closePolicy closes the policy and returns the SubConns that it left open.
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
	// sc is set before anything can call its Connect, and so before its listener runs.
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

// adopt records the SubConn *sc; sc must stay valid. It returns false if the Child is closed.
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
