// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"bufio"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// headed skips a header, as implementations of the PROXY protocol do.
type headed struct {
	net.Conn
	r    *bufio.Reader
	done bool
}

func (h *headed) Read(p []byte) (int, error) {
	if !h.done {
		if _, err := h.r.ReadString('\n'); err != nil {
			return 0, err
		}
		h.done = true
	}
	return h.r.Read(p)
}

// wrapKnown reads such a wrapper as one that is known.
func wrapKnown(t *testing.T) (*known, net.Conn) {
	t.Helper()
	self, peer := connPair(t, "tcp")
	conn := &headed{Conn: self, r: bufio.NewReaderSize(self, 64)}
	k := newCounted(conn, &plainConn{Conn: conn})
	if k == nil {
		t.Skip("this system does not count what a socket receives, as qemu-user does not")
	}
	return k, peer
}

// idle has the reader's wait ended by a deadline, as the sweeper does, and reports whether it may park.
func (k *known) idle(t *testing.T) bool {
	t.Helper()
	pool := newTestPool(t)
	_ = k.conn.SetReadDeadline(time.Unix(1, 0))
	if _, _, err := k.ReadOnReady(100, pool); !isTimeout(err) {
		t.Fatal(err)
	}
	_ = k.conn.SetReadDeadline(time.Time{})
	_, _, err := k.TryRead(100, pool)
	return err == ErrWouldBlock
}

// must reads n bytes.
func (k *known) must(t *testing.T, n int) {
	t.Helper()
	pool := newTestPool(t)
	for n > 0 {
		buf, got, err := k.ReadOnReady(min(n, 20), pool)
		if err != nil {
			t.Fatal(err)
		}
		n -= got
		pool.Put(buf)
	}
}

// A wrapper that has taken a header parks once it has waited in vain, whatever it holds in between.
func TestKnown(t *testing.T) {
	for _, header := range []string{"\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", strings.Repeat("x", 500) + "\n"} {
		k, peer := wrapKnown(t)
		pool := newTestPool(t)
		mustWrite(t, peer, header)
		for i := range 10 {
			mustWrite(t, peer, strings.Repeat("a", 100))
			k.must(t, 20) // the rest is held, some of it
			if _, err := lent(pool, func() (*[]byte, int, error) { return k.TryRead(1, pool) }); err == ErrWouldBlock {
				t.Fatal("it may park, and holds something")
			} else if err != nil && !isTimeout(err) {
				t.Fatal(err)
			} else if err == nil {
				k.must(t, 79)
			} else {
				k.must(t, 80)
			}
			if i == 0 {
				if _, _, err := k.TryRead(100, pool); err != os.ErrDeadlineExceeded {
					t.Errorf("%v before it was waited for", err)
				}
				if !k.idle(t) {
					t.Fatal("may not park")
				}
			} else if _, _, err := k.TryRead(100, pool); err != ErrWouldBlock {
				t.Errorf("round %d: %v", i, err)
			}
		}
		if k.taken != uint64(len(header)) {
			t.Errorf("%d bytes are taken, want %d", k.taken, len(header))
		}
		peer.Close()
		if err := AwaitInput(k.rc); err != nil {
			t.Fatal(err)
		}
		if _, _, err := k.TryRead(100, pool); err == nil || Again(err) {
			t.Errorf("at the end: %v", err)
		}
	}
}

// What lies in the socket is not taken for what was taken.
func TestKnownLearns(t *testing.T) {
	k, peer := wrapKnown(t)
	mustWrite(t, peer, "h\nabc")
	k.must(t, 3)
	mustWrite(t, peer, "unread")
	if err := AwaitInput(k.rc); err != nil {
		t.Fatal(err)
	}
	k.learn()
	if k.learned {
		t.Errorf("%d bytes are taken", k.taken)
	}
	k.must(t, 6)
	if !k.idle(t) || k.taken != 2 {
		t.Errorf("%d bytes are taken", k.taken)
	}
}

func TestIsKnown(t *testing.T) {
	a, _ := connPair(t, "tcp")
	for _, c := range []net.Conn{a, &headed{Conn: a}, &brittle{Conn: a}} {
		if isKnown(c) {
			t.Errorf("%T", c)
		}
	}
}
