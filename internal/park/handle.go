// SPDX-License-Identifier: Apache-2.0

package park

import "sync"

// Init makes the handle ready, active, for o. It registers nothing yet. A nil o
// is allowed: Park then fails with ErrUnsupported.
func (h *Handle) Init(o Owner) { h.init(&process, o) }

func (h *Handle) init(s *set, o Owner) { h.set, h.owner = s, o }

// Park gives up the reader's role until the socket is readable, at its end, or
// in error, or until someone else takes it. With a nil error the caller must
// not touch the reader's state any more; all of that may have happened already.
// With any error the caller still holds the role: see ErrKicked and ErrClosed;
// with others (no support, out of descriptors or of the kernel's watches) it
// goes on with a goroutine that waits in a read.
//
// The caller has read until there was nothing left, or has at least looked
// since it took the role; bytes that a layer above holds don't wake.
func (h *Handle) Park() error {
	if h.set == nil || h.owner == nil {
		return ErrUnsupported
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.load(); w != active { // spare the kernel and the poller
		next, err := w.park(0)
		if err != nil && h.swap(w, next) {
			return err
		}
	}
	first := h.slot == 0
	if first {
		if err := h.set.register(h); err != nil {
			return err
		}
	}
	h.gen++
	// Parked comes before the kernel knows: an event that is due at once must
	// find the handle parked, or it would be dropped and never repeated.
	if err := h.park(); err != nil {
		if first {
			h.set.unregister(h)
		}
		return err
	}
	err := h.arm(first)
	if err == nil {
		return nil
	}
	if first {
		h.set.unregister(h)
	}
	if h.wakeGen(h.gen) {
		return err
	}
	// Kicked or closed in between: the role is theirs, and the next Park, if
	// there is one, will say what is wrong.
	return nil
}

// Take takes the reader's role, if the handle is parked, for a caller that reads at once, and has
// the kernel tell of no input meanwhile. Unlike Kick it leaves nothing behind if it returns false.
func (h *Handle) Take() bool {
	if !h.take() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.slot == 0 {
		return true // closed since
	}
	be, err := h.set.backend(false)
	if c, ok := be.(calmer); ok && err == nil {
		a := armings.Get().(*arming)
		a.calmer = c
		_ = h.owner.RawConn().Control(a.calm) // where it fails the event finds nobody parked
		a.calmer = nil
		armings.Put(a)
	}
	return true
}

// Close ends the handle and takes it out of the poller. It reports whether the
// caller has to run the reader's exit path, because the handle was parked and
// now no event will come. Otherwise the reader is at work, and its next Park
// fails with ErrClosed. Further calls return false.
//
// It is best called before the connection is closed. After it also works; but
// if the descriptor was duplicated, the kernel then watches the other one on,
// and its events are dropped.
func (h *Handle) Close() bool {
	var wasParked bool
	for {
		w := h.load()
		var next word
		next, wasParked = w.close()
		if h.swap(w, next) {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.slot != 0 {
		h.disarm()
		h.set.unregister(h)
	}
	return wasParked
}

// Wake has the owner start a reader. It is for the caller that Close told to run its exit path
// and has that done by a reader of its own.
func (h *Handle) Wake() { h.owner.Wake() }

// arm tells the kernel, while Control keeps the descriptor from being closed
// and its number from being reused. mu is held and the handle is registered,
// which keeps the poller's own descriptor open too.
func (h *Handle) arm(first bool) error {
	be, err := h.set.backend(true)
	if err != nil {
		return err
	}
	a := armings.Get().(*arming)
	a.backend, a.token, a.first = be, tokenOf(h.slot, h.gen), first
	err = h.owner.RawConn().Control(a.control)
	if err == nil {
		err = a.err
	}
	a.backend, a.err = nil, nil
	armings.Put(a)
	return err
}

// arming is one call of a backend's arm, or calm, with the callbacks that a RawConn wants: bound
// once, as a closure each time would allocate.
type arming struct {
	control func(fd uintptr)
	calm    func(fd uintptr)
	calmer  calmer

	backend backend
	token   uint64
	first   bool
	err     error
}

var armings = sync.Pool{New: func() any {
	a := new(arming)
	a.control = func(fd uintptr) { a.err = a.backend.arm(int(fd), a.token, a.first) }
	a.calm = func(fd uintptr) { a.calmer.calm(int(fd)) }
	return a
}}

// disarm makes the kernel forget the socket, unless that is closed already.
func (h *Handle) disarm() {
	if be, err := h.set.backend(false); err == nil {
		_ = h.owner.RawConn().Control(func(fd uintptr) { be.disarm(int(fd)) })
	}
}
