// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
)

// tcpEnds are the two ends of a TCP connection.
func tcpEnds(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// TestDirectRead: what is read to where it is wanted waits, ends by a deadline, and has the errors of the
// connection's own Read.
func TestDirectRead(t *testing.T) {
	a, b := tcpEnds(t)
	r := newRaw(b)
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("of nothing: %d, %v", n, err)
	}
	p := make([]byte, 100<<10)
	b.SetReadDeadline(time.Unix(1, 0))
	if _, err := r.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past the deadline: %v", err)
	}
	b.SetReadDeadline(time.Time{})
	go a.Write(make([]byte, len(p)))
	if n, err := io.ReadFull(r, p); n != len(p) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	a.Close()
	if n, err := r.Read(p); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	b.Close()
	_, want := b.Read(p)
	if _, err := r.Read(p); err == nil || err.Error() != want.Error() {
		t.Errorf("once it is closed: %v, want %v", err, want)
	}
}

// TestShortReadBehindDirect: what follows a read to where it was wanted is read in a small buffer, and what
// follows that in one of the usual size.
func TestShortReadBehindDirect(t *testing.T) {
	a, b := tcpEnds(t)
	rd := New(NewSocket(b), Options{Pool: mem.DefaultBufferPool(), Size: 32 << 10, Pooled: true})
	defer rd.Release()
	if _, err := a.Write(make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if _, err := rd.Read(make([]byte, 32<<10)); err != nil {
		t.Fatal(err)
	}
	for i, most := range []int{shortRead, 32 << 10} {
		if _, err := rd.Peek(9); err != nil {
			t.Fatal(err)
		}
		n := rd.Buffered()
		if n > most || i == 0 && n != most {
			t.Errorf("read %d has %d bytes, want %d", i, n, most)
		}
		if _, err := rd.Discard(n); err != nil {
			t.Fatal(err)
		}
	}
}
