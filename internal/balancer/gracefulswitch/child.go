// SPDX-License-Identifier: Apache-2.0

package gracefulswitch

import (
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/balancer/subconns"
	"google.golang.org/grpc/resolver"
)

// child is one policy, and the ClientConn that it was built with.
type child struct {
	internal.ClientConnSeal

	parent *Balancer
	name   string
	tidy   bool // its SubConns are its own business

	// calls is held during each call into the policy: those of the parent, those of
	// SubConns and the last one, Close, which comes from a goroutine of its own.
	calls  sync.Mutex
	policy balancer.Balancer // nil before it is built and after it is closed

	// The parent's lock guards the rest.
	last     balancer.State
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
	c.call(func(policy balancer.Balancer) {
		policy.Close()
		c.policy = nil
	})
	for sc := range c.parent.orphans(c).All {
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
