// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// childConn is what the child policy has for its channel.
type childConn struct {
	balancer.ClientConn
	lb *lb
}

// UpdateState keeps the child's state, and publishes what it means.
func (c *childConn) UpdateState(s balancer.State) {
	b := c.lb
	b.mu.Lock()
	defer b.mu.Unlock()
	b.childState = s
	if b.loseServers() {
		// Not from here: this is a call of the child.
		go b.applyAndLog()
		return
	}
	b.publish()
}

// NewSubConn gives servers of the load balancer the credentials that are meant for them, and
// remembers their addresses.
func (c *childConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	b := c.lb
	if len(addrs) == 0 || !isFromBalancer(addrs[0]) {
		return c.ClientConn.NewSubConn(addrs, opts)
	}
	if b.backendMode != nil {
		opts.CredsBundle = b.backendMode
	}
	listener := opts.StateListener
	var sc balancer.SubConn
	opts.StateListener = func(s balancer.SubConnState) {
		if s.ConnectivityState == connectivity.Shutdown {
			b.mu.Lock()
			delete(b.servers, sc)
			b.mu.Unlock()
		}
		listener(s)
	}
	// sc is written before anybody can call Connect, and so before the listener runs.
	sc, err := c.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[sc] = addrs[0].Addr
	return sc, nil
}
