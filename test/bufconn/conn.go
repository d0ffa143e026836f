// SPDX-License-Identifier: Apache-2.0

package bufconn

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// conn is one end of a connection. It is a net.Conn, and also has the abilities that the
// transport wants of a socket: it can wait for input without a buffer, and can try a write.
type conn struct {
	readyreader.BaseLayer
	in, out *pipe
}

var _ readyreader.Layer = (*conn)(nil)

// Can implements readyreader.Layer.
func (*conn) Can() readyreader.Ability { return readyreader.ReadsReady | readyreader.TriesWrites }

func newPair(size int) (client, server *conn) {
	up, down := newPipe(size), newPipe(size)
	return &conn{in: down, out: up}, &conn{in: up, out: down}
}

func (c *conn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }

// ReadOnReady is Read into a buffer from pool, which it takes only once there is something to
// read.
func (c *conn) ReadOnReady(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	for {
		if err := c.in.awaitInput(); err != nil {
			return nil, 0, err
		}
		buf := pool.Get(bufSize)
		n, err := c.in.tryRead(*buf)
		if n > 0 {
			return buf, n, nil
		}
		pool.Put(buf)
		if err != readyreader.ErrWouldBlock { // another reader was faster: wait again
			return nil, 0, err
		}
	}
}

// TryWrite writes as much as there is room for, without waiting.
func (c *conn) TryWrite(p []byte) (int, error) { return c.out.tryWrite(p) }

// Close makes all calls that wait on this end return. The other end can still read what was
// written, and then gets io.EOF.
func (c *conn) Close() error {
	c.in.closeReader()
	c.out.closeWriter()
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	c.in.setReadDeadline(t)
	c.out.setWriteDeadline(t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setReadDeadline(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.setWriteDeadline(t)
	return nil
}

func (*conn) LocalAddr() net.Addr  { return addr{} }
func (*conn) RemoteAddr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "bufconn" }

func (addr) String() string { return "bufconn" }
