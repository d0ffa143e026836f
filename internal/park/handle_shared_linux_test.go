// SPDX-License-Identifier: Apache-2.0

package park

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
)

// sharing is the owner of a socket that others use, too.
type sharing struct {
	rc    syscall.RawConn
	woken chan struct{}
	looks atomic.Int64
}

func (s *sharing) RawConn() syscall.RawConn { return s.rc }
func (s *sharing) Wake()                    { s.woken <- struct{}{} }
func (s *sharing) Run()                     { s.Wake() }
func (s *sharing) Look()                    { s.looks.Add(1) }

func newSharing(t *testing.T, c net.Conn) *sharing {
	rc, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	return &sharing{rc: rc, woken: make(chan struct{}, 1)}
}

// awaitWake fails where a wake is lost.
func (s *sharing) awaitWake(t *testing.T) {
	t.Helper()
	select {
	case <-s.woken:
	case <-time.After(lost):
		t.Fatal("lost wake")
	}
}

// shared is a handle of a socket that somebody else reads.
type shared struct {
	Handle
	*sharing
	t     *testing.T
	write func() // has the other one read something
}

func newShared(t *testing.T, network string) *shared {
	a, b := testutils.SocketsOn(t, network)
	s := &shared{sharing: newSharing(t, a), t: t}
	s.Init(s.sharing)
	got := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		p := make([]byte, 1)
		for {
			if _, err := a.Read(p); err != nil {
				return
			}
			got <- struct{}{}
		}
	})
	t.Cleanup(func() { s.Close(); a.Close(); other.Wait() })
	s.write = func() {
		if _, err := io.WriteString(b, "x"); err != nil {
			t.Fatal(err)
		}
		<-got
	}
	return s
}

// What comes wakes although somebody else, who waits for it, too, has read it by then.
func TestSharedSocketWakes(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			s := newShared(t, network)
			if err := s.Park(); err != nil {
				t.Fatal(err)
			}
			s.awaitWake(t) // from the first Park
			for range 300 {
				if err := s.Park(); err != nil {
					t.Fatal(err)
				}
				s.write()
				s.awaitWake(t)
			}
		})
	}
}
