// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
)

// childConn is what the child policy has for its channel.
type childConn struct {
	balancer.ClientConn
	changed func(balancer.State) // is told of the child's state, in place of the channel
	servers *servers
	mode    credentials.Bundle // for servers of the load balancer; nil without a bundle
}

// UpdateState implements balancer.ClientConn.
func (c *childConn) UpdateState(s balancer.State) { c.changed(s) }

// NewSubConn gives servers of the load balancer the credentials that are meant for them, and
// remembers their addresses.
func (c *childConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	if len(addrs) == 0 || !isFromBalancer(addrs[0]) {
		return c.ClientConn.NewSubConn(addrs, opts)
	}
	if c.mode != nil {
		opts.CredsBundle = c.mode
	}
	listener := opts.StateListener
	var sc balancer.SubConn
	opts.StateListener = func(s balancer.SubConnState) {
		if s.ConnectivityState == connectivity.Shutdown {
			c.servers.remove(sc)
		}
		listener(s)
	}
	// sc is written before anybody can call Connect, and so before the listener runs.
	sc, err := c.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	c.servers.add(sc, addrs[0].Addr)
	return sc, nil
}

// servers are the load balancer's that the child has SubConns for.
type servers struct {
	mu        sync.Mutex
	addresses map[balancer.SubConn]string
}

func (s *servers) add(sc balancer.SubConn, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addresses == nil {
		s.addresses = make(map[balancer.SubConn]string)
	}
	s.addresses[sc] = address
}

func (s *servers) remove(sc balancer.SubConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.addresses, sc)
}

// address returns "" for a server that is not the load balancer's.
func (s *servers) address(sc balancer.SubConn) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addresses[sc]
}
