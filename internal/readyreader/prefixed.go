// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// Prefixed returns conn with p, which is kept, in front of what is read of it: for those
// who have looked at the beginning. If conn can be read and written without waiting, so can the result, which
// must then be used in its place; conn stays good for deadlines and Close.
func Prefixed(conn net.Conn, p []byte) net.Conn {
	late := prefix{Conn: conn, p: p}
	w, ok := NewWriter(conn)
	if !ok {
		return &late
	}
	r, ok := w.(TryReader)
	if !ok {
		return &late
	}
	return &prefixed{prefix: late, in: r, out: w}
}

// Unread is Prefixed for those who wait in Read.
func Unread(conn net.Conn, p []byte) net.Conn {
	if len(p) == 0 {
		return conn
	}
	return &prefix{Conn: conn, p: p}
}

// prefix is a connection that is read by waiting for it.
type prefix struct {
	net.Conn
	p []byte // owned by the reader
}

// Read implements net.Conn.
func (c *prefix) Read(b []byte) (int, error) {
	if len(c.p) > 0 {
		return c.take(b), nil
	}
	return c.Conn.Read(b)
}

// take moves some of the prefix to b.
func (c *prefix) take(b []byte) int {
	n := copy(b, c.p)
	if c.p = c.p[n:]; len(c.p) == 0 {
		c.p = nil
	}
	return n
}

// ReadFrom implements io.ReaderFrom, as a TCP connection has a better way to send a file.
func (c *prefix) ReadFrom(r io.Reader) (int64, error) {
	if f, ok := c.Conn.(io.ReaderFrom); ok {
		return f.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

// CloseWrite ends what is written, if conn can do that.
func (c *prefix) CloseWrite() error {
	if h, ok := c.Conn.(HalfCloser); ok {
		return h.CloseWrite()
	}
	return errors.ErrUnsupported
}

// prefixed is a connection that need not be waited for.
type prefixed struct {
	prefix
	in  TryReader
	out Writer
}

// Read implements net.Conn.
func (c *prefixed) Read(b []byte) (int, error) {
	if len(c.p) > 0 {
		return c.take(b), nil
	}
	if r, ok := c.in.(io.Reader); ok { // it may have input in hand
		return r.Read(b)
	}
	return c.Conn.Read(b)
}

// ReadOnReady implements Reader.
func (c *prefixed) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if len(c.p) > 0 {
		return c.lend(size, pool)
	}
	return c.in.ReadOnReady(size, pool)
}

// TryRead implements TryReader.
func (c *prefixed) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if len(c.p) > 0 {
		return c.lend(size, pool)
	}
	return c.in.TryRead(size, pool)
}

func (c *prefixed) lend(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	if n := c.take(window(buf, size)); n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, io.ErrShortBuffer
}

// TryReadInto implements InPlaceReader.
func (c *prefixed) TryReadInto(b []byte) (int, error) {
	if len(c.p) > 0 || len(b) == 0 {
		return c.take(b), nil
	}
	if r, ok := c.in.(InPlaceReader); ok {
		return r.TryReadInto(b)
	}
	return 0, ErrWouldBlock
}

// RawConn implements TryReader.
func (c *prefixed) RawConn() syscall.RawConn { return c.in.RawConn() }

// Write implements Writer.
func (c *prefixed) Write(p []byte) (int, error) { return c.out.Write(p) }

// TryWrite implements Writer.
func (c *prefixed) TryWrite(p []byte) (int, error) { return c.out.TryWrite(p) }

// WriteWaits implements WaitingWriter.
func (c *prefixed) WriteWaits() bool { return WriteWaits(c.out) }

// WhyNot implements Explainer.
func (c *prefixed) WhyNot() string {
	if e, ok := c.out.(Explainer); ok {
		return e.WhyNot()
	}
	return ""
}

// Rests implements Rester.
func (c *prefixed) Rests() bool { return Rests(c.out) }

// Rest implements Rester.
func (c *prefixed) Rest(idle bool, pool mem.BufferPool) {
	if len(c.p) > 0 {
		return
	}
	c.out.(Rester).Rest(idle, pool)
}

// ReleaseIdle is that of the connection below.
func (c *prefixed) ReleaseIdle() {
	if r, ok := c.out.(IdleReleaser); ok {
		r.ReleaseIdle()
	}
}
