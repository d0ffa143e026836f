// SPDX-License-Identifier: Apache-2.0

package park

import "sync"

// Init makes the handle active, for owner o. It registers nothing yet. A nil o is allowed: Park then fails
// with ErrUnsupported.
func (h *Handle) Init(o Owner) { h.init(&process, o) }

func (h *Handle) init(s *set, o Owner) { h.set, h.owner = s, o }

// Park gives up the reader's role until the socket is readable, at its end, or in error, or until someone
// else takes the role. With a nil error the caller must not touch the reader's state any more: by then the
// role may already be somebody else's. With any error the caller still holds the role: see ErrKicked and
// ErrClosed. After other errors (no support, out of descriptors or of the kernel's watches) the caller goes
// on with a goroutine that waits in a read. It may try again: see RetryPeriod.
//
// Before it calls Park, the caller must have read until nothing was left, or at least have looked for input
// since it took the role. Bytes that a layer above the socket holds do not wake a reader.
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
	if !first {
		h.disarm()
	}
	h.set.unregister(h) // also if the poller has failed: once nobody is registered there can be a new one
	if h.wakeGen(h.gen) {
		return err
	}
	// A Kick or a Close came in between and took the role. The next Park, if there is one, will return the
	// error.
	return nil
}

// Take takes the reader's role, if the handle is parked, for a caller that reads at once. It tells the
// kernel to report no input meanwhile. Unlike Kick, it changes nothing if it returns false.
func (h *Handle) Take() bool {
	if !h.take() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.slot == 0 {
		return true // closed since, or refused
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
// It is best called before the connection is closed. It also works afterwards; but if the descriptor was
// duplicated, the kernel then goes on watching the duplicate, whose events are dropped.
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

// Wake makes the owner start a reader. It is for a caller that Close told to run the exit path, and that
// leaves this to the new reader.
func (h *Handle) Wake() { h.owner.Wake() }

// arm tells the kernel to watch the socket. Control keeps the descriptor from being closed and its number
// from being reused meanwhile. The caller holds mu, and the handle is registered, which keeps the poller's
// own descriptor open too.
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

// arming is one call of a backend's arm or calm. It has the callbacks that a RawConn takes, which are bound
// once: a closure for each call would allocate.
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

// disarm makes the kernel forget the socket, unless the socket is closed already.
func (h *Handle) disarm() {
	if be, err := h.set.backend(false); err == nil {
		_ = h.owner.RawConn().Control(func(fd uintptr) { be.disarm(int(fd)) })
	}
}
