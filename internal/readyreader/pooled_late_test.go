// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"google.golang.org/grpc/internal/testutils"
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

// lastBytes is a program's connection whose last bytes come together with an error, once.
type lastBytes struct {
	net.Conn
	rc    syscall.RawConn
	words string
}

func (c *lastBytes) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n := copy(*buf, c.words)
	c.words = ""
	if n == 0 {
		return buf, 0, errors.New("read once more")
	}
	return buf, n, io.EOF
}

func (c *lastBytes) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return c.ReadOnReady(size, pool)
}

func (*lastBytes) Read([]byte) (int, error)   { return 0, errors.New("read once more") }
func (c *lastBytes) RawConn() syscall.RawConn { return c.rc }

// TestErrorComesAfterItsBytes: a Layer around a program's connection returns bytes first, and the error that came
// with them whenever it is read after that.
func TestErrorComesAfterItsBytes(t *testing.T) {
	a, _ := connPair(t, "tcp")
	rc, err := a.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	pool := newTestPool(t)
	if c := NewSocket(&testutils.LastWords{Conn: a, Words: "bye", Err: io.ErrClosedPipe}); true {
		p := make([]byte, 9)
		if n, err := c.Read(p); n != 3 || err != nil {
			t.Errorf("Read: %d bytes, %v", n, err)
		}
		if n, err := c.Read(p); n != 0 || err != io.ErrClosedPipe {
			t.Errorf("Read, then: %d bytes, %v", n, err)
		}
	}
	for _, try := range []bool{false, true} {
		s := NewSocket(&lastBytes{Conn: a, rc: rc, words: "bye"})
		if !s.Can().Has(ReadsReady | TriesReads) {
			t.Skip("no connection parks here")
		}
		read := s.ReadOnReady
		if try {
			read = s.TryRead
		}
		buf, n, err := read(100, pool)
		if err != nil {
			t.Fatalf("try %v: %v", try, err)
		}
		if got := string((*buf)[:n]); got != "bye" {
			t.Errorf("try %v: %q", try, got)
		}
		pool.Put(buf)
		_, _, ready := s.ReadOnReady(100, pool)
		_, _, tried := s.TryRead(100, pool)
		_, plain := s.Read(make([]byte, 9))
		if ready != io.EOF || tried != io.EOF || plain != io.EOF {
			t.Errorf("try %v: %v, %v and %v after the end", try, ready, tried, plain)
		}
	}
}

// emptyConn is a program's connection whose reads return a buffer without a byte, and no error.
type emptyConn struct {
	net.Conn
	rc syscall.RawConn
}

func (*emptyConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return pool.Get(size), 0, nil
}

func (c *emptyConn) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return c.ReadOnReady(size, pool)
}

func (c *emptyConn) RawConn() syscall.RawConn { return c.rc }

// TestReadOfNothingFails: a Layer around a program's connection returns bytes or an error, so that no caller reads
// again and again.
func TestReadOfNothingFails(t *testing.T) {
	a, _ := connPair(t, "tcp")
	rc, err := a.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	s := NewSocket(&emptyConn{a, rc})
	pool := newTestPool(t)
	for name, read := range map[string]readFunc{"ReadOnReady": s.ReadOnReady, "TryRead": s.TryRead} {
		if !s.Can().Has(ReadsReady | TriesReads) {
			t.Skip("no connection parks here")
		}
		if buf, n, err := read(100, pool); buf != nil || n != 0 || err != io.ErrNoProgress {
			t.Errorf("%s: %v, %d, %v", name, buf, n, err)
		}
	}
}
