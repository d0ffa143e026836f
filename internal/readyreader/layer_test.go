// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"fmt"
	"net"
	"syscall"
	"testing"

	"google.golang.org/grpc/mem"
)

// tryer is TryReader of package experimental, without input.
type tryer struct {
	net.Conn
	rc syscall.RawConn
}

func (t *tryer) Read(p []byte) (int, error) { return t.Conn.Read(p) }

func (t *tryer) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error) { panic("waits") }

func (t *tryer) TryRead(int, mem.BufferPool) (*[]byte, int, error) {
	return nil, 0, fmt.Errorf("the tryer: %w", ErrWouldBlock)
}

func (t *tryer) RawConn() syscall.RawConn { return t.rc }

// Wrappers around one. Those with a Read or ReadOnReady of their own must not be passed by in TryRead.
type (
	embedsTryer struct{ *tryer }
	readsTryer  struct{ *tryer }
	readyTryer  struct{ *tryer }
	seesReady   struct{ *tryer }
	seesTries   struct{ *tryer }
	triesTryer  struct{ readyTryer }
)

func (readsTryer) Read([]byte) (int, error)                              { panic("read") }
func (readyTryer) Read([]byte) (int, error)                              { panic("read") }
func (readyTryer) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error) { panic("waits") }
func (seesReady) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error)  { panic("waits") }
func (seesTries) TryRead(int, mem.BufferPool) (*[]byte, int, error)      { panic("tries") }
func (triesTryer) Read([]byte) (int, error)                              { panic("read") }
func (triesTryer) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error) { panic("waits") }
func (triesTryer) TryRead(int, mem.BufferPool) (*[]byte, int, error) {
	return nil, 0, ErrWouldBlock
}

func TestTryReader(t *testing.T) {
	a, _ := connPair(t, "tcp")
	rc, err := a.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const all = ReadsReady | TriesReads
	for name, tt := range map[string]struct {
		conn net.Conn
		want Ability // of all
	}{
		"it":                          {&tryer{a, rc}, all},
		"embedded":                    {embedsTryer{&tryer{a, rc}}, all},
		"without a socket":            {&tryer{a, nil}, ReadsReady},
		"with a ReadOnReady above it": {readyTryer{&tryer{a, rc}}, ReadsReady},
		"with ReadOnReady alone":      {seesReady{&tryer{a, rc}}, ReadsReady},
		"with TryRead alone":          {seesTries{&tryer{a, rc}}, ReadsReady},
		"with a TryRead above that":   {triesTryer{readyTryer{&tryer{a, rc}}}, all},
	} {
		s := NewSocket(tt.conn)
		if can := s.Can() & all; can != tt.want {
			t.Errorf("%s: can %b, want %b", name, can, tt.want)
		}
		if tt.want != all {
			continue
		}
		if _, _, err := s.TryRead(1, nil); err != ErrWouldBlock || s.RawConn() != rc {
			t.Errorf("%s: %v, waited for on %v", name, err, s.RawConn())
		}
	}
	if can := NewSocket(readsTryer{&tryer{a, rc}}).Can(); can.Has(ReadsReady) {
		t.Errorf("with a Read above it: can %b", can)
	}
}
