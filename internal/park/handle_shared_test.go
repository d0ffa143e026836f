// SPDX-License-Identifier: Apache-2.0

package park

import "testing"

// watching is the owner of a shared socket.
type watching struct {
	owned
	looks int
}

func (w *watching) Look() { w.looks++ }

// The kernel is asked once to tell of all that comes. What comes while somebody reads has the next
// Park fail; and where more comes meanwhile the kernel is to be silent, until the next Park.
func TestSharedHandle(t *testing.T) {
	s, k := fakeSet()
	w := new(wakes)
	o := &watching{owned: owned{&fakeSocket{fd: 5}, w}}
	var h Handle
	h.init(s, o)
	defer h.Close()
	park := func(want error) {
		t.Helper()
		if err := h.Park(); err != want {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	parks := func(tells, wakes int) {
		t.Helper()
		if k.tells != tells || w.n != wakes {
			t.Fatalf("asked %d times, %d wakes; want %d, %d", k.tells, w.n, tells, wakes)
		}
	}
	park(nil)
	first := k.take(1)
	deliver(s.p.Load(), first)
	parks(1, 1) // it has told at once
	for i := range 3 {
		park(nil)
		deliver(s.p.Load(), first)
		parks(1, 2+i)
	}
	deliver(s.p.Load(), first) // while somebody reads
	park(ErrKicked)
	park(nil)
	parks(1, 4)
	deliver(s.p.Load(), first)
	for range 3 {
		deliver(s.p.Load(), first)
	}
	park(ErrKicked)
	park(nil)
	parks(2, 5)
	deliver(s.p.Load(), first) // of the arming before
	parks(2, 5)
	deliver(s.p.Load(), k.take(1))
	parks(2, 6)
	if !h.heardSincePark(s) {
		t.Error("what finds the handle parked since does not wake")
	}
}

// heardSincePark has an event find the handle not parked, and then parked.
func (h *Handle) heardSincePark(s *set) bool {
	if err := h.Park(); err != nil {
		return false
	}
	return h.heard(h.gen)
}

// The walk has the owner look while the handle is parked.
func TestSharedHandleIsLookedAt(t *testing.T) {
	s, _ := fakeSet()
	o := &watching{owned: owned{&fakeSocket{fd: 5}, new(wakes)}}
	var h Handle
	h.init(s, o)
	defer h.Close()
	for range 2 {
		if err := h.Park(); err != nil {
			t.Fatal(err)
		}
		s.p.Load().step()
		h.Kick()
		s.p.Load().step()
	}
	if o.looks != 2 {
		t.Errorf("%d looks", o.looks)
	}
}
