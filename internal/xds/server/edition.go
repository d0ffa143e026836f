// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/xds/handshake"
	"google.golang.org/grpc/internal/xds/resource"
)

// edition is what a Listener resource said, in use. The Listener's mu guards what changes.
type edition struct {
	listener *Listener
	config   *resource.ServerListener
	chains   map[*resource.FilterChain]*chain

	conns   map[*conn]struct{} // not closed yet
	shaking int                // how many of conns have their handshakes before them
	retired bool
	grace   *time.Timer // closes what is left; nil until it is retired
}

// chain is a filter chain in use.
type chain struct {
	tls    *handshake.Server // nil: the fallback credentials
	router *router
}

// newEditionLocked prepares one, and watches the routes that it names.
func (l *Listener) newEditionLocked(config *resource.ServerListener) *edition {
	e := &edition{
		listener: l, config: config,
		chains: make(map[*resource.FilterChain]*chain), conns: make(map[*conn]struct{}),
	}
	for _, fc := range config.Chains {
		e.addChainLocked(fc)
	}
	if config.Default != nil {
		e.addChainLocked(config.Default)
	}
	return e
}

func (e *edition) addChainLocked(fc *resource.FilterChain) {
	l := e.listener
	c := &chain{router: &router{node: l.node, filters: fc.HTTP.Filters, memory: &l.memory}}
	if fc.TLS != nil {
		c.tls = handshake.NewServer(fc.TLS, l.options.Client.Bootstrap().CertProviders)
	}
	if fc.HTTP.Routes != nil {
		c.router.routes = fixedRoutes(fc.HTTP.Routes)
	} else {
		c.router.routes = l.routesLocked(fc.HTTP.RouteName)
	}
	e.chains[fc] = c
}

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
	left := make([]*conn, 0, len(e.conns))
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
