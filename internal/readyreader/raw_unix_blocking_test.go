// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

import (
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// block puts the socket into blocking mode, by the way in which programs set options of it.
func block(t testing.TB, conn any) {
	t.Helper()
	f, err := conn.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	if flags&unix.O_NONBLOCK != 0 {
		t.Skip("File().Fd() leaves the socket as it is")
	}
}

// blocking returns a socket in blocking mode. A call that waits for its peer fails the test.
func blocking(t testing.TB, network string) net.Conn {
	self, peer := connPair(t, network)
	block(t, self)
	watchdog := time.AfterFunc(10*time.Second, func() {
		t.Error("a try waits")
		peer.Close()
	})
	t.Cleanup(func() { watchdog.Stop() })
	return self
}

// meters is a wrapper that reads and writes by itself.
type meters struct{ net.Conn }

func (m meters) Read(p []byte) (int, error)  { return m.Conn.Read(p) }
func (m meters) Write(p []byte) (int, error) { return m.Conn.Write(p) }

// TestBlockingSocketBelow: a look for input below a wrapper does not wait either.
func TestBlockingSocketBelow(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, network string) {
		s := NewSocket(meters{blocking(t, network)})
		if n, err := s.TryReadInto(make([]byte, 8)); n != 0 || err != ErrWouldBlock {
			t.Errorf("try to read: %d, %v", n, err)
		}
	})
}

func TestBlockingSocket(t *testing.T) {
	forEachNetwork(t, func(t *testing.T, network string) {
		r := rawReaderFor(t, blocking(t, network))
		if n, err := r.TryReadInto(make([]byte, 8)); n != 0 || err != ErrWouldBlock {
			t.Errorf("try to read: %d, %v", n, err)
		}
		chunk := make([]byte, 1<<20)
		for {
			if _, err := r.TryWrite(chunk); err == ErrWouldBlock {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
