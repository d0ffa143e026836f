// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/handshake"
)

// SetDeadline implements net.Conn. It also records the deadline for the handshake.
func (c *conn) SetDeadline(t time.Time) error {
	if t.IsZero() {
		c.deadline.Store(nil)
	} else {
		c.deadline.Store(&t)
	}
	return c.Conn.SetDeadline(t)
}

// Close implements net.Conn. It also removes the connection from its edition.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.listener.forget(c)
	return err
}

// CloseWrite closes the connection for writing, if the connection below can do that.
func (c *conn) CloseWrite() error { return readyreader.CloseWrite(c.Conn) }

// XDSHandshake implements handshake.Conn.
func (c *conn) XDSHandshake() (s *handshake.Server, below net.Conn, deadline time.Time) {
	if t := c.deadline.Load(); t != nil {
		deadline = *t
	}
	return c.chain.tls, c, deadline
}

// Source is the rpcconfig.Source of a server that serves on Listeners.
type Source struct{}

// Admit implements rpcconfig.Source. It admits connections of any other listener, and those for which
// something is configured.
func (Source) Admit(accepted net.Conn) bool {
	c, ok := accepted.(*conn)
	return !ok || c.listener.choose(c)
}

// Router implements rpcconfig.Source. It returns a nil Router for a connection of any other
// listener.
func (Source) Router(accepted rpcconfig.Conn) (rpcconfig.Router, error) {
	c, ok := accepted.Accepted.(*conn)
	if !ok {
		return nil, nil
	}
	l, e := c.listener, c.chain.edition
	l.mu.Lock()
	defer l.mu.Unlock()
	c.drain = accepted.Drain
	e.shookLocked(c)
	if e.retired && !l.closed {
		go c.drain()
	}
	return c.chain.router, nil
}
