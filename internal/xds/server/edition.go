// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/internal/xds/handshake"
	"google.golang.org/grpc/internal/xds/resource"
)

// complete reports whether the RouteConfigurations of all chains are known, or known not to
// be available.
func (e *edition) complete() bool {
	for _, c := range e.chains {
		if c.router.routes.current.Load() == nil {
			return false
		}
	}
	return true
}

// addRoutes adds the routes of the edition's chains to used. The edition may be nil.
func (e *edition) addRoutes(used map[*routes]bool) {
	if e == nil {
		return
	}
	for _, c := range e.chains {
		used[c.router.routes] = true
	}
}

// addLocked adds a connection to the edition.
func (e *edition) addLocked(c *conn, fc *resource.FilterChain) {
	c.chain, c.shaking = e.chains[fc], true
	e.conns[c] = struct{}{}
	e.shaking++
}

// retireLocked drains the connections, and closes those that are still open after the drain
// grace time.
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
	go func() { // drain may write, and may wait for locks
		for _, drain := range drains {
			drain()
		}
	}()
	e.grace = time.AfterFunc(e.listener.options.DrainGrace, e.closeAll)
}

// abandonLocked ends the edition of a listener that is being closed. It leaves the
// connections alone: the server decides what happens to them.
//
// The caller calls release, if it is not nil, without the lock.
func (e *edition) abandonLocked() (release func()) {
	e.retired = true
	return e.unneededLocked()
}

// releaseLocked releases the certificates once no handshake needs them any more.
func (e *edition) releaseLocked() {
	if release := e.unneededLocked(); release != nil {
		go release()
	}
}

// unneededLocked returns a function that releases the certificates, or nil if handshakes need them. The function
// must be called without a lock: providers may be the program's.
func (e *edition) unneededLocked() (release func()) {
	if !e.retired || e.shaking > 0 {
		return nil
	}
	var tls []*handshake.Server
	for _, c := range e.chains {
		if c.tls != nil {
			tls = append(tls, c.tls)
		}
	}
	if len(tls) == 0 {
		return nil
	}
	return func() {
		for _, s := range tls {
			s.Close()
		}
	}
}

// closeAll closes the connections that are left after the drain grace time.
func (e *edition) closeAll() {
	e.listener.mu.Lock()
	left := make([]net.Conn, 0, len(e.conns))
	for c := range e.conns {
		left = append(left, c)
	}
	e.listener.mu.Unlock()
	for _, c := range left {
		_ = c.Close() // the connection is given up, so an error does not matter
	}
}

// shookLocked records that the handshake of a connection is over.
func (e *edition) shookLocked(c *conn) {
	if c.shaking {
		c.shaking = false
		e.shaking--
		e.releaseLocked()
	}
}

// forget removes a connection that has been closed from its edition.
func (l *Listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.chain == nil {
		return // it was closed before it had an edition
	}
	e := c.chain.edition
	if _, ok := e.conns[c]; !ok {
		return
	}
	delete(e.conns, c)
	e.shookLocked(c)
	if len(e.conns) == 0 && e.grace != nil {
		e.grace.Stop()
	}
}

// faults returns an error that describes the first cause for RPCs to fail, or nil if there is
// none.
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
