// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"google.golang.org/grpc/mem"
)

// onceConn fails once; the system tells an error of a socket no second time, but the end of
// the stream.
type onceConn struct {
	BaseLayer
	net.Conn
	err error
}

func (c *onceConn) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error) {
	err := c.err
	c.err = io.EOF
	return nil, 0, err
}

func (c *onceConn) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return c.ReadOnReady(size, pool)
}

func (c *onceConn) Can() Ability { return ReadsReady | TriesReads }

// Whoever looks whether there is input does not take the error from who reads after that.
func TestErrorIsKept(t *testing.T) {
	failed := func(errno syscall.Errno) error {
		return &net.OpError{Op: "read", Err: os.NewSyscallError("read", errno)}
	}
	for _, tt := range []struct{ first, then error }{
		{failed(syscall.ECONNRESET), failed(syscall.ECONNRESET)},
		{failed(syscall.ETIMEDOUT), failed(syscall.ETIMEDOUT)},
		{ErrWouldBlock, io.EOF},
		{os.ErrDeadlineExceeded, io.EOF},
	} {
		b := New(NewSocket(&onceConn{err: tt.first}), Options{Pool: newTestPool(t), Size: 1000, Pooled: true})
		if _, err := b.TryPeek(9); err.Error() != tt.first.Error() {
			t.Errorf("%v: then %v", tt.first, err)
		}
		if _, err := b.Peek(9); err.Error() != tt.then.Error() && !errors.Is(err, tt.then) {
			t.Errorf("after %v: %v, want %v", tt.first, err, tt.then)
		}
		b.Release()
	}
}
