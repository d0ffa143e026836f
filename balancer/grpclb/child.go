// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
)

// childConn is the ClientConn of the child policy.
type childConn struct {
	balancer.ClientConn
	changed func(balancer.State) // gets the child's states, which do not go to the channel
	servers *servers
	mode    credentials.Bundle // for servers in the load balancer's list; nil if the channel has no bundle
}

// UpdateState implements balancer.ClientConn.
func (c *childConn) UpdateState(s balancer.State) { c.changed(s) }

// NewSubConn makes a SubConn. For a server in the load balancer's list it sets the credentials for
// such servers, remembers the server's address, and leaves out health checks, as the load balancer
// makes them (gRFC A17).
func (c *childConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	if len(addrs) == 0 || !isFromBalancer(addrs[0]) {
		return c.ClientConn.NewSubConn(addrs, opts)
	}
	if c.mode != nil {
		opts.CredsBundle = c.mode
	}
	opts.HealthCheckEnabled = false
	listener := opts.StateListener
	var sc balancer.SubConn
	opts.StateListener = func(s balancer.SubConnState) {
		if s.ConnectivityState == connectivity.Shutdown {
			c.servers.remove(sc)
		}
		listener(s)
	}
	// sc is set before anything can call its Connect, and so before its listener runs.
	sc, err := c.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	c.servers.add(sc, addrs[0].Addr)
	return sc, nil
}

// servers has the addresses of the child's SubConns to servers in the load balancer's list.
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

// address returns the address of sc, or "" if sc's server is not from the load balancer.
func (s *servers) address(sc balancer.SubConn) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addresses[sc]
}
