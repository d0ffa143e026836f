// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"bufio"
	"net"
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

func wrapHeaded(t *testing.T) (*wrapped, net.Conn) {
	w, peer := wrap(t, func(c net.Conn) net.Conn { return &headed{Conn: c, r: bufio.NewReaderSize(c, 64)} })
	w.takes()
	return w, peer
}

// A wrapper that has taken a header parks, whatever it holds in between.
func TestTaker(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", strings.Repeat("x", 500) + "\n"} {
		w, peer := wrapHeaded(t)
		for i := range 10 {
			if i == 0 {
				mustWrite(t, peer, header)
			}
			mustWrite(t, peer, strings.Repeat("a", 100))
			if i%2 == 0 { // the rest is held
				pool := newTestPool(t)
				buf, n, err := w.ReadOnReady(20, pool)
				if err != nil {
					t.Fatal(err)
				}
				pool.Put(buf)
				receive(t, w, 100-n)
			} else {
				receive(t, w, 100)
			}
			if !settle(t, w, peer) {
				t.Fatalf("header of %d, round %d: may not park", len(header), i)
			}
			w.SetReadDeadline(time.Time{})
		}
		if got := w.taken.Load(); got != uint64(len(header)) {
			t.Errorf("%d bytes are taken, want %d", got, len(header))
		}
		if why := w.WhyNot(); why != "" {
			t.Error(why)
		}
	}
}

// It is not interrupted before it has returned something: its header may be under way.
func TestTakerKeepsItsHeader(t *testing.T) {
	t.Parallel()
	w, peer := wrapHeaded(t)
	mustWrite(t, peer, "half of a hea")
	done := make(chan bool)
	go func() { done <- settle(t, w, peer) }()
	for inside := false; !inside; {
		w.mu.Lock()
		inside = w.inside
		w.mu.Unlock()
	}
	mustWrite(t, peer, "der\nfirst")
	if <-done {
		t.Error("may park")
	}
	mustWrite(t, peer, "x")
	receive(t, w, 1)
}

// What lies in the socket is not taken for what was taken.
func TestTakerLearns(t *testing.T) {
	t.Parallel()
	w, peer := wrapHeaded(t)
	mustWrite(t, peer, "h\nabc")
	receive(t, w, 3)
	mustWrite(t, peer, "unread")
	if err := AwaitInput(w.rc); err != nil {
		t.Fatal(err)
	}
	w.learn()
	if got := w.taken.Load(); got != 0 {
		t.Errorf("%d bytes are taken", got)
	}
	receive(t, w, 6)
	w.learn()
	if got := w.taken.Load(); got != 2 {
		t.Errorf("%d bytes are taken", got)
	}
}

func TestIsTaker(t *testing.T) {
	a, _ := connPair(t, "tcp")
	for _, c := range []net.Conn{a, &headed{Conn: a}, &brittle{Conn: a}, &skips{Conn: a}} {
		if isTaker(c) {
			t.Errorf("%T", c)
		}
	}
}
