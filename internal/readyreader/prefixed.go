// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/mem"
)

// Prefixed returns a connection whose reads return p, which is kept, and then what s's reads return. It is for
// callers that have looked at the beginning of the stream through s: an error that came with the last bytes is
// returned after p. If s can be read and written without waiting, so can the result, which must then be used in
// place of s; s.Conn stays good for deadlines and Close.
func (s Socket) Prefixed(p []byte) net.Conn {
	plain := prefix{Conn: s.Conn, below: s.Layer, p: p}
	if !s.Can().Has(TriesReads) {
		return &plain
	}
	return &prefixed{prefix: plain}
}

// Unread does what Prefixed does, for callers that wait in Read.
func (s Socket) Unread(p []byte) net.Conn {
	if len(p) == 0 {
		return s.Conn
	}
	return &prefix{Conn: s.Conn, below: s.Layer, p: p}
}

// prefix is a connection with bytes in front. Its reads wait.
type prefix struct {
	net.Conn
	below Layer  // of Conn
	p     []byte // owned by the reader
}

// NetConn returns the connection below, as tls.Conn's does. Its reads do not have the prefix.
func (c *prefix) NetConn() net.Conn { return c.Conn }

// Read implements net.Conn.
func (c *prefix) Read(b []byte) (int, error) {
	if len(c.p) > 0 {
		return c.take(b), nil
	}
	return c.below.Read(b) // it may have input in hand, or an error
}

// take moves some of the prefix to b.
func (c *prefix) take(b []byte) int {
	n := copy(b, c.p)
	if c.p = c.p[n:]; len(c.p) == 0 {
		c.p = nil
	}
	return n
}

// ReadFrom implements io.ReaderFrom: a TCP connection has a better way to send a file.
func (c *prefix) ReadFrom(r io.Reader) (int64, error) {
	if f, ok := c.Conn.(io.ReaderFrom); ok {
		return f.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

// CloseWrite closes the connection for writing, if the connection below can do that.
func (c *prefix) CloseWrite() error {
	return CloseWrite(c.Conn)
}

// CloseWrite closes conn for writing. It returns errors.ErrUnsupported if conn can't do that. A wrapper may have the
// method from what it embeds: docs/process.md says what it owes then.
func CloseWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// prefixed is a prefix that can be read without waiting.
type prefixed struct {
	BaseLayer
	prefix
}

// Can implements Layer. It leaves OnSocket out, because there are bytes in front of the socket's.
func (c *prefixed) Can() Ability { return c.below.Can() &^ (OnSocket | TakesVectors) }

// ReadOnReady implements Layer.
func (c *prefixed) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if len(c.p) > 0 {
		return c.lend(size, pool)
	}
	return c.below.ReadOnReady(size, pool)
}

// TryRead implements Layer.
func (c *prefixed) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if len(c.p) > 0 {
		return c.lend(size, pool)
	}
	return c.below.TryRead(size, pool)
}

func (c *prefixed) lend(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	if n := c.take(window(buf, size)); n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, io.ErrShortBuffer
}

// TryReadInto implements Layer.
func (c *prefixed) TryReadInto(b []byte) (int, error) {
	if len(c.p) > 0 || len(b) == 0 {
		return c.take(b), nil
	}
	return c.below.TryReadInto(b)
}

// RawConn implements Layer.
func (c *prefixed) RawConn() syscall.RawConn { return c.below.RawConn() }

// Write implements Layer.
func (c *prefixed) Write(p []byte) (int, error) { return c.below.Write(p) }

// TryWrite implements Layer.
func (c *prefixed) TryWrite(p []byte) (int, error) { return c.below.TryWrite(p) }

// WhyNot implements Layer.
func (c *prefixed) WhyNot() string { return c.below.WhyNot() }

// WaitInRead implements Layer.
func (c *prefixed) WaitInRead(idle bool, pool mem.BufferPool) {
	if len(c.p) == 0 {
		c.below.WaitInRead(idle, pool)
	}
}

// Held implements Layer.
func (c *prefixed) Held() int { return c.below.Held() }

// Retained implements Layer.
func (c *prefixed) Retained() int { return c.below.Retained() }

// CountIn implements Layer.
func (c *prefixed) CountIn(sum *atomic.Int64) { c.below.CountIn(sum) }

// ReleaseIdle implements Layer.
func (c *prefixed) ReleaseIdle() { c.below.ReleaseIdle() }
