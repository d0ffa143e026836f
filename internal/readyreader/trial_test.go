// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"
)

// wrapBusy returns a wrapper that was never quiet, and whose peer echoes.
func wrapBusy(t testing.TB, f func(net.Conn) net.Conn) (w *wrapped, peer net.Conn) {
	w, peer = wrap(t, f)
	go echo(peer)
	for !w.isBusy() {
		mustWrite(t, w.conn, "round")
		receive(t, w, 5)
	}
	return w, peer
}

func newBrittle(c net.Conn) net.Conn { return &brittle{Conn: c} }

// awaitInside returns when w's reader is in the wrapper's Read.
func awaitInside(w *wrapped) {
	for inside := false; !inside; {
		w.mu.Lock()
		inside = w.inside
		w.mu.Unlock()
	}
}

// A busy wrapper is read by whoever waits, and tested no more; once a Read of it took long it
// is tested again, and parks.
func TestBusyWrapper(t *testing.T) {
	w, peer := wrapBusy(t, newBrittle)
	pool := newTestPool(t)
	late := make(chan time.Time, 1)
	go func() {
		awaitInside(w)
		if _, n := pool.held(); n != busySize {
			t.Errorf("it waits with %d bytes", n)
		}
		if why := w.WhyNot(); !strings.Contains(why, "has been busy") {
			t.Error(why)
		}
		time.AfterFunc(2*testWithin, func() {
			late <- time.Now()
			mustWrite(t, peer, "x")
		})
	}()
	buf, _, err := w.ReadOnReady(32<<10, pool)
	if err != nil {
		t.Fatal(err)
	}
	pool.Put(buf)
	<-late
	if w.isBusy() {
		t.Fatal("it was quiet, and is busy still")
	}
	mustWrite(t, peer, "y")
	receive(t, w, 1)
	if !settle(t, w, peer) {
		t.Error("may not park")
	}
}

// The other kinds are found out after they were busy, too.
func TestBusyUntrustedWrappers(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(net.Conn) net.Conn{
		"sets deadlines": func(c net.Conn) net.Conn { return &strict{c, time.Hour} },
		"reads ahead":    newAhead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, peer := wrap(t, f)
			w.tests = 0
			go func() {
				awaitInside(w)
				mustWrite(t, peer, "abc")
			}()
			receive(t, w, 3)
			w.mu.Lock()
			w.regrant(testWithin)
			w.mu.Unlock()
			mustWrite(t, peer, "def")
			receive(t, w, 3)
			if settle(t, w, peer) {
				t.Error("may park")
			}
		})
	}
}

// What is more than a busy wrapper waits with follows in a buffer of full size.
func TestBusyWrapperFills(t *testing.T) {
	w, _ := wrapBusy(t, newBrittle)
	want := bytes.Repeat([]byte("0123456789"), 3000)
	go w.Write(want)
	pool := newTestPool(t)
	var got []byte
	for filled := false; len(got) < len(want); {
		busy := w.isBusy() // the machine may make it look quiet
		buf, n, err := w.ReadOnReady(32<<10, pool)
		if err != nil {
			t.Fatal(err)
		}
		if size := len(*buf); busy && (filled != (size == 32<<10) || !filled && size != busySize) {
			t.Errorf("a buffer of %d bytes, after one that was filled: %t", size, filled)
		}
		filled = n == len(*buf)
		got = append(got, (*buf)[:n]...)
		pool.Put(buf)
	}
	if !bytes.Equal(got, want) {
		t.Error("other bytes arrived than were sent")
	}
}

func TestRegrant(t *testing.T) {
	w := &wrapped{grant: testWaits}
	w.regrant(testWithin - 1)
	if w.tests != 0 {
		t.Errorf("%d tests for one that is not quiet", w.tests)
	}
	for want := 2 * testWaits; want < 4*mostTestWaits; want *= 2 {
		w.regrant(testWithin)
		if w.tests != min(want, mostTestWaits) {
			t.Errorf("%d tests, want %d", w.tests, min(want, mostTestWaits))
		}
	}
}
