// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"bufio"
	"net"
	"strings"
	"testing"
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
	w.taker = true
	return w, peer
}

// What a wrapper has taken is learnt while it waits for more, and then it parks, but not with bytes
// that it holds.
func TestTaker(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", strings.Repeat("x", 500) + "\n"} {
		w, peer := wrapHeaded(t)
		mustWrite(t, peer, header+"a")
		receive(t, w, 1)
		if w.mayLeave() {
			t.Fatal("parks before anything is known")
		}
		done := make(chan struct{})
		go func() { defer close(done); receive(t, w, 100) }()
		for w.taken.Load() == 0 {
			w.Interrupt(nil)
		}
		mustWrite(t, peer, strings.Repeat("a", 100))
		<-done
		for i := range 10 {
			if !w.mayLeave() {
				t.Fatalf("header of %d, round %d: does not park: %s", len(header), i, w.WhyNot())
			}
			mustWrite(t, peer, strings.Repeat("a", 100))
			awaitReceived(t, w, w.returned.Load()+w.taken.Load()+100)
			pool := newTestPool(t)
			buf, n, err := w.ReadOnReady(20, pool)
			if err != nil {
				t.Fatal(err)
			}
			pool.Put(buf)
			if w.mayLeave() {
				t.Fatal("parks with bytes that it holds")
			}
			receive(t, w, 100-n)
		}
		if got := w.taken.Load(); got != uint64(len(header)) {
			t.Errorf("%d bytes are taken, want %d", got, len(header))
		}
	}
}

// What is not all of the header, or lies in the socket, is not taken for what was taken.
func TestTakerLearns(t *testing.T) {
	t.Parallel()
	w, peer := wrapHeaded(t)
	wantTaken := func(when string) {
		t.Helper()
		if w.learn(); w.taken.Load() != 0 {
			t.Errorf("%s: %d bytes are taken", when, w.taken.Load())
		}
	}
	mustWrite(t, peer, "half of a hea")
	done := make(chan struct{})
	go func() { defer close(done); receive(t, w, 5) }()
	for !w.inside.Load() || !count(w.rc).empty {
	}
	wantTaken("in the header")
	mustWrite(t, peer, "der\nfirst")
	<-done
	wantTaken("while nobody reads")
	mustWrite(t, peer, "unread")
	awaitReceived(t, w, 28)
	wantTaken("with input")
	receive(t, w, 6)
}

func TestIsTaker(t *testing.T) {
	a, _ := connPair(t, "tcp")
	for _, c := range []net.Conn{a, &headed{Conn: a}, &brittle{Conn: a}, &skips{Conn: a}} {
		if isTaker(c) {
			t.Errorf("%T", c)
		}
	}
}
