// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"time"

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
	c.edition.forget(c)
	return err
}

// XDSHandshake implements handshake.Conn.
func (c *conn) XDSHandshake() (s *handshake.Server, below net.Conn, deadline time.Time) {
	if t := c.deadline.Load(); t != nil {
		deadline = *t
	}
	return c.chain.tls, c, deadline
}

// Source is the rpcconfig.Source of a server that serves on Listeners.
type Source struct{}

// Router implements rpcconfig.Source. It returns a nil Router for a connection of any other
// listener.
func (Source) Router(accepted rpcconfig.Conn) (rpcconfig.Router, error) {
	c, ok := accepted.Accepted.(*conn)
	if !ok {
		return nil, nil
	}
	l := c.edition.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	c.drain = accepted.Drain
	c.edition.shookLocked(c)
	if c.edition.retired && !l.closed {
		go c.drain()
	}
	return c.chain.router, nil
}
