// SPDX-License-Identifier: Apache-2.0

package side

import (
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// conn is this side's end of a connection.
type conn struct {
	s  *side
	id int

	mu      sync.Mutex
	changed sync.Cond
	in      []byte
	room    int
	eof     bool
	broken  bool
	closed  bool
	readBy  time.Time
	writeBy time.Time

	onChange func() // tells the ground; nil: nobody
}

// tellChange tells all who wait for a change. The caller holds mu.
func (c *conn) tellChange() {
	c.changed.Broadcast()
	if c.onChange != nil {
		c.onChange()
	}
}

func (s *side) newConn(id int) *conn {
	c := &conn{s: s, id: id, room: 1 << 20}
	if s.has(SmallRoom) {
		c.room = 2 << 10
	}
	c.changed.L = &c.mu
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[id] = c
	return c
}

// do carries out an order.
func (c *conn) do(m Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.Op {
	case Deliver:
		c.in = append(c.in, m.Data...)
	case EOF:
		c.eof = true
	case Reset:
		c.broken = true
	case Room:
		c.room += m.N
	}
	c.tellChange()
}

func past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// take reads what is there. Without an error and without a byte it is to be waited for.
func (c *conn) take(p []byte) (int, error) {
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case past(c.readBy):
		return 0, os.ErrDeadlineExceeded
	case len(p) == 0:
		return 0, nil
	case len(c.in) > 0:
		n := copy(p, c.in)
		c.in = c.in[n:]
		return n, nil
	case c.broken:
		return 0, syscall.ECONNRESET
	case c.eof:
		return 0, io.EOF
	}
	return 0, nil
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		n, err := c.take(p)
		if n > 0 || err != nil || len(p) == 0 {
			c.tellChange()
			return n, err
		}
		c.changed.Wait()
	}
}

// put writes what there is room for.
func (c *conn) put(p []byte) (int, error) {
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.broken:
		return 0, syscall.EPIPE
	case past(c.writeBy):
		return 0, os.ErrDeadlineExceeded
	}
	n := min(len(p), c.room)
	if n > 0 {
		c.room -= n
		c.s.tell(Message{Op: Wrote, Conn: c.id, Data: p[:n]})
	}
	return n, nil
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (written int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		n, err := c.put(p)
		written, p = written+n, p[n:]
		if err != nil || len(p) == 0 {
			return written, err
		}
		c.changed.Wait()
	}
}

// Close implements net.Conn. What was not read is told, as TCP resets a connection then.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	c.s.tell(Message{Op: Closed, Conn: c.id, N: len(c.in)})
	c.tellChange()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return address(c.id) }
func (c *conn) RemoteAddr() net.Addr { return address(c.id) }

func (c *conn) SetDeadline(t time.Time) error      { return c.by(t, &c.readBy, &c.writeBy) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.by(t, &c.readBy) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.by(t, &c.writeBy) }

func (c *conn) by(t time.Time, which ...*time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	for _, w := range which {
		*w = t
	}
	if !t.IsZero() {
		time.AfterFunc(time.Until(t), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed.Broadcast()
		})
	}
	c.changed.Broadcast()
	return nil
}

// address is that of a connection: its number.
type address int

func (address) Network() string  { return "crossing" }
func (a address) String() string { return strconv.Itoa(int(a)) }
