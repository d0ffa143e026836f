// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/internal/readyreader"
)

// memHalf is one direction of a connection in memory: a buffer of limited size.
type memHalf struct {
	mu      sync.Mutex
	cond    sync.Cond
	buf     []byte
	limit   int
	ended   bool // the writer has closed its side
	refused bool // the reader has closed: writes fail
	broken  error
	readBy  time.Time
	writeBy time.Time
	deaf    bool // deadlines have no effect
	maxRead int  // bytes that one Read returns at most, 0: any number
	written int  // bytes in all
}

func newMemHalf(limit int) *memHalf {
	h := &memHalf{limit: limit}
	h.cond.L = &h.mu
	return h
}

func past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

func (h *memHalf) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.refused:
			return 0, net.ErrClosed
		case past(h.readBy):
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(h.buf) > 0:
			n := len(p)
			if h.maxRead > 0 {
				n = min(n, h.maxRead)
			}
			n = copy(p[:n], h.buf)
			h.buf = h.buf[n:]
			h.cond.Broadcast()
			return n, nil
		case h.broken != nil:
			return 0, h.broken
		case h.ended:
			return 0, io.EOF
		}
		h.cond.Wait()
	}
}

func (h *memHalf) write(p []byte, wait bool) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.ended:
			return n, net.ErrClosed
		case h.broken != nil:
			return n, h.broken
		case h.refused:
			return n, syscall.EPIPE
		case past(h.writeBy):
			return n, os.ErrDeadlineExceeded
		}
		k := min(h.limit-len(h.buf), len(p))
		h.buf = append(h.buf, p[:k]...)
		h.written += k
		n, p = n+k, p[k:]
		h.cond.Broadcast()
		if len(p) == 0 {
			return n, nil
		}
		if !wait {
			return n, readyreader.ErrWouldBlock
		}
		h.cond.Wait()
	}
}

func (h *memHalf) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.cond.Broadcast()
}

func (h *memHalf) setDeadline(at *time.Time, t time.Time) {
	h.set(func() {
		if !h.deaf {
			*at = t
		}
	})
	if d := time.Until(t); d > 0 && !t.IsZero() {
		time.AfterFunc(d, func() { h.set(func() {}) })
	}
}

// take empties the buffer.
func (h *memHalf) take() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.buf
	h.buf = nil
	h.cond.Broadcast()
	return b
}

// memConn is one end of a connection in memory. It can be written without
// waiting, as a socket can.
type memConn struct {
	readyreader.BaseLayer
	in, out *memHalf
	stuck   chan struct{} // if it is there, CloseWrite waits until it is closed
}

// memPipe returns both ends; limit is the size of each direction's buffer.
func memPipe(limit int) (a, b *memConn) {
	x, y := newMemHalf(limit), newMemHalf(limit)
	return &memConn{in: x, out: y}, &memConn{in: y, out: x}
}

func (c *memConn) Can() readyreader.Ability { return readyreader.TriesWrites }

func (c *memConn) Read(p []byte) (int, error)     { return c.in.read(p) }
func (c *memConn) Write(p []byte) (int, error)    { return c.out.write(p, true) }
func (c *memConn) TryWrite(p []byte) (int, error) { return c.out.write(p, false) }

func (c *memConn) Close() error {
	c.in.set(func() { c.in.refused = true })
	return c.end()
}

func (c *memConn) CloseWrite() error {
	if c.stuck != nil {
		<-c.stuck
	}
	return c.end()
}

func (c *memConn) end() error {
	c.out.set(func() { c.out.ended = true })
	return nil
}

// fail breaks both directions.
func (c *memConn) fail(err error) {
	c.in.set(func() { c.in.broken = err })
	c.out.set(func() { c.out.broken = err })
}

func (c *memConn) LocalAddr() net.Addr  { return memAddr{} }
func (c *memConn) RemoteAddr() net.Addr { return memAddr{} }

func (c *memConn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	return nil
}

func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "mem" }

// plainConn is a connection of a kind that nobody knows: it can only be read
// and written, and waits for both.
type plainConn struct{ net.Conn }

func (c plainConn) Read(p []byte) (int, error)  { return c.Conn.Read(p) }
func (c plainConn) Write(p []byte) (int, error) { return c.Conn.Write(p) }
