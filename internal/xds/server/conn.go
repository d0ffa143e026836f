// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/handshake"
)

// SetDeadline implements net.Conn. It also sets the limit of the handshake.
func (c *conn) SetDeadline(t time.Time) error {
	var next *limit
	if !t.IsZero() {
		next = new(limit)
		next.ctx, next.cancel = context.WithDeadline(context.Background(), t)
	}
	if last := c.limit.Swap(next); last != nil {
		last.cancel()
	}
	if next != nil && c.gone.Load() { // Close may have found the last limit
		next.cancel()
	}
	return c.Conn.SetDeadline(t)
}

// Close implements net.Conn. It also ends a handshake that waits for certificates, and removes the connection from
// its edition.
func (c *conn) Close() error {
	c.gone.Store(true)
	if l := c.limit.Load(); l != nil {
		l.cancel()
	}
	err := c.Conn.Close()
	c.listener.forget(c)
	return err
}

// CloseWrite closes the connection for writing, if the connection below can do that.
func (c *conn) CloseWrite() error { return readyreader.CloseWrite(c.Conn) }

// XDSHandshake implements handshake.Conn.
func (c *conn) XDSHandshake() (ctx context.Context, s *handshake.Server, below net.Conn) {
	if l := c.limit.Load(); l != nil {
		return l.ctx, c.chain.tls, c
	}
	return context.Background(), c.chain.tls, c
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
