// SPDX-License-Identifier: Apache-2.0

package park

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"unsafe"
)

func TestHandleSize(t *testing.T) {
	if n := unsafe.Sizeof(Handle{}); n > 48 {
		t.Errorf("a handle has %d bytes, more than 48", n)
	}
}

func TestZeroHandle(t *testing.T) {
	var h Handle
	if err := h.Park(); err != ErrUnsupported {
		t.Errorf("Park: %v", err)
	}
	if h.Kick() || h.Parked() || h.Close() {
		t.Error("a zero handle can't be parked")
	}
	h = Handle{}
	h.Init(nil)
	if err := h.Park(); err != ErrUnsupported {
		t.Errorf("Park without a socket: %v", err)
	}
}

func TestParkWakeKickClose(t *testing.T) {
	s, k := fakeSet()
	w := new(wakes)
	var h Handle
	h.init(s, owned{&fakeSocket{fd: 5}, w})
	wantStats(t, s, Stats{})
	mustPark := func() {
		t.Helper()
		if err := h.Park(); err != nil {
			t.Fatal(err)
		}
	}

	mustPark()
	wantStats(t, s, Stats{Parked: 1, Registered: 1})
	if err := h.Park(); err != ErrParked {
		t.Errorf("second Park: %v", err)
	}
	k.setReady(5, true)
	deliver(s.p.Load(), k.take(1))
	if w.n != 1 || h.Parked() {
		t.Fatalf("%d wakes", w.n)
	}
	wantStats(t, s, Stats{Registered: 1})

	mustPark() // still ready: fires at once
	stale := k.take(1)
	if !h.Kick() {
		t.Fatal("Kick of a parked handle lost")
	}
	k.setReady(5, false)
	mustPark()
	deliver(s.p.Load(), stale)
	if w.n != 1 || !h.Parked() {
		t.Error("the event of an earlier arming woke the handle")
	}
	if !h.Kick() || h.Kick() {
		t.Error("one Kick wins")
	}
	if err := h.Park(); err != ErrKicked {
		t.Errorf("Park after a Kick: %v", err)
	}
	mustPark()
	if !h.Close() || h.Close() {
		t.Error("one Close has the exit path to run")
	}
	if err := h.Park(); err != ErrClosed {
		t.Errorf("Park after Close: %v", err)
	}
	if h.Kick() {
		t.Error("Kick after Close")
	}
	wantStats(t, s, Stats{})
	if len(k.known) != 0 || s.p.Load() != nil {
		t.Error("the handle is still registered")
	}
}

// An event may come before the kernel call returns, and a Kick before it
// begins: the role is gone, and Park says so with nil.
func TestWokenWithinPark(t *testing.T) {
	s, k := fakeSet()
	w := new(wakes)
	var h Handle
	h.init(s, owned{&fakeSocket{fd: 5}, w})
	kicked := false
	k.onArm = func() { kicked = h.Kick() }
	if err := h.Park(); err != nil || !kicked {
		t.Fatalf("Park: %v, kicked %v", err, kicked)
	}
	// The arming that is left over fires for nobody.
	k.setReady(5, true)
	deliver(s.p.Load(), k.take(1))
	if w.n != 0 {
		t.Error("woken although active")
	}
	h.Close()
}

// A system that refuses leaves the caller the reader, and nothing behind; but
// not if the role was taken in the meantime.
func TestArmFails(t *testing.T) {
	s, k := fakeSet()
	var h Handle
	h.init(s, owned{&fakeSocket{fd: 5}, new(wakes)})
	k.armErr = syscall.ENOSPC
	for range 2 {
		if err := h.Park(); err != syscall.ENOSPC {
			t.Fatalf("Park: %v", err)
		}
		wantStats(t, s, Stats{})
	}
	k.onArm = func() { h.Kick() }
	if err := h.Park(); err != nil {
		t.Fatalf("Park with the role taken: %v", err)
	}
	k.onArm, k.armErr = nil, nil
	if err := h.Park(); err != nil {
		t.Fatalf("Park once the system allows: %v", err)
	}
	// It refuses a socket that it has watched.
	h.Kick()
	k.armErr = syscall.ENOMEM
	if err := h.Park(); err != syscall.ENOMEM || len(k.known) > 0 {
		t.Fatalf("Park: %v; %d are known", err, len(k.known))
	}
	wantStats(t, s, Stats{})
	k.armErr = nil
	if err := h.Park(); err != nil {
		t.Fatalf("Park once the system allows again: %v", err)
	}
	h.Close()
	wantStats(t, s, Stats{})

	// A closed descriptor.
	sock := &fakeSocket{fd: 6}
	sock.closed.Store(true)
	var h2 Handle
	h2.init(s, owned{sock, new(wakes)})
	if err := h2.Park(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Park of a closed socket: %v", err)
	}
	wantStats(t, s, Stats{})
}

// If the poller can't open, nothing is left half done.
func TestOpenFails(t *testing.T) {
	s := &set{open: func() (backend, error) { return nil, syscall.EMFILE }}
	var h Handle
	h.init(s, owned{&fakeSocket{fd: 5}, new(wakes)})
	if err := h.Park(); err != syscall.EMFILE {
		t.Errorf("Park: %v", err)
	}
	h.Close()
	wantStats(t, s, Stats{})
}

type wakeChan chan struct{}

func (c wakeChan) Wake() { c <- struct{}{} }

// When waiting itself fails everyone is woken. Once each has been refused, or is closed, a new poller may
// try.
func TestPollerFails(t *testing.T) {
	s, k := fakeSet()
	broken := errors.New("broken")
	woken := make(wakeChan, 3)
	hs := make([]Handle, 3)
	for i := range hs {
		hs[i].init(s, owned{&fakeSocket{fd: i + 3}, woken})
		if err := hs[i].Park(); err != nil {
			t.Fatal(err)
		}
	}
	k.last.end <- broken
	for range hs {
		<-woken
	}
	for _, i := range []int{0, 1, 0, 2} { // the second try of 0 is one too early
		if err := hs[i].Park(); err != broken {
			t.Errorf("Park: %v", err)
		}
	}
	wantStats(t, s, Stats{})
	k.known = map[int]bool{}
	for i := range hs[:2] {
		if err := hs[i].Park(); err != nil || k.opened != 2 {
			t.Errorf("Park on a new poller: %v, opened %d times", err, k.opened)
		}
	}
	wantStats(t, s, Stats{Parked: 2, Registered: 2})
	for i := range hs {
		if parked := i < 2; hs[i].Close() != parked {
			t.Errorf("handle %d is parked: %v", i, !parked)
		}
	}
	wantStats(t, s, Stats{})
}

// The slot and the descriptor of a closed connection go to another one: what
// was still under way for the first doesn't reach it.
func TestReuse(t *testing.T) {
	s, k := fakeSet()
	keep, a, b := new(wakes), new(wakes), new(wakes)
	var hk, ha, hb Handle
	hk.init(s, owned{&fakeSocket{fd: 4}, keep}) // holds the poller
	hk.Park()
	ha.init(s, owned{&fakeSocket{fd: 5}, a})
	ha.Park()
	k.setReady(5, true)
	stale := k.take(1)
	p := s.p.Load()
	ha.Close()
	k.setReady(5, false)
	hb.init(s, owned{&fakeSocket{fd: 5}, b})
	hb.Park()
	if hb.slot == 0 || stale[0]>>32 != uint64(hb.slot) {
		t.Fatal("the slot was not reused: this tests nothing")
	}
	deliver(p, stale)
	if a.n != 0 || b.n != 0 || !hb.Parked() {
		t.Errorf("a stale event woke: %d, %d", a.n, b.n)
	}
	hb.Close()
	hk.Close()
	deliver(p, stale) // by a poller that has stopped
	if a.n+b.n+keep.n != 0 {
		t.Error("a stopped poller woke someone")
	}
}
