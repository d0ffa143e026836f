// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/internal/xds/resource"
)

// complete reports whether all routes have come, or can't be had.
func (e *edition) complete() bool {
	for _, c := range e.chains {
		if c.router.routes.current.Load() == nil {
			return false
		}
	}
	return true
}

// uses reports whether the edition, which may be nil, has a chain with the routes.
func (e *edition) uses(r *routes) bool {
	if e == nil {
		return false
	}
	for _, c := range e.chains {
		if c.router.routes == r {
			return true
		}
	}
	return false
}

// addLocked makes a connection one of the edition's.
func (e *edition) addLocked(raw net.Conn, fc *resource.FilterChain) *conn {
	c := &conn{Conn: raw, edition: e, chain: e.chains[fc], shaking: true}
	e.conns[c] = struct{}{}
	e.shaking++
	return c
}

// retireLocked drains the connections, and has those closed that take too long.
func (e *edition) retireLocked() {
	e.retired = true
	e.releaseLocked()
	if len(e.conns) == 0 {
		return
	}
	var drains []func()
	for c := range e.conns {
		if c.drain != nil {
			drains = append(drains, c.drain)
		}
	}
	go func() { // they may write, and wait for locks
		for _, drain := range drains {
			drain()
		}
	}()
	e.grace = time.AfterFunc(e.listener.options.DrainGrace, e.closeAll)
}

// abandonLocked is the end of the edition of a listener that is closed: the server knows what
// becomes of its connections.
func (e *edition) abandonLocked() {
	e.retired = true
	e.releaseLocked()
}

// releaseLocked gives certificates up once no handshake needs them.
func (e *edition) releaseLocked() {
	if !e.retired || e.shaking > 0 {
		return
	}
	for _, c := range e.chains {
		if c.tls != nil {
			c.tls.Close()
		}
	}
}

// closeAll closes what is left after the drain grace time.
func (e *edition) closeAll() {
	e.listener.mu.Lock()
	left := make([]net.Conn, 0, len(e.conns))
	for c := range e.conns {
		left = append(left, c)
	}
	e.listener.mu.Unlock()
	for _, c := range left {
		_ = c.Close() // it is given up
	}
}

// shookLocked notes that a connection has its handshake behind it.
func (e *edition) shookLocked(c *conn) {
	if c.shaking {
		c.shaking = false
		e.shaking--
		e.releaseLocked()
	}
}

// forget is told of each connection that is closed.
func (e *edition) forget(c *conn) {
	l := e.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := e.conns[c]; !ok {
		return
	}
	delete(e.conns, c)
	e.shookLocked(c)
	if len(e.conns) == 0 && e.grace != nil {
		e.grace.Stop()
	}
}

// faults returns the first thing that will make RPCs fail.
func (e *edition) faults() error {
	for _, c := range e.chains {
		now := c.router.routes.current.Load()
		if now == nil {
			continue
		}
		if now.err != nil {
			return fmt.Errorf("RouteConfiguration %q: %w", c.router.routes.name, now.err)
		}
		for i := range now.config.VirtualHosts {
			for j := range now.config.VirtualHosts[i].Routes {
				if now.config.VirtualHosts[i].Routes[j].Action != resource.NonForwarding {
					return fmt.Errorf("RouteConfiguration %q: virtual_hosts[%d].routes[%d] has no non_forwarding_action", now.config.Name, i, j)
				}
			}
		}
	}
	return nil
}
