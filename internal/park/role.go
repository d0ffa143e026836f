// SPDX-License-Identifier: Apache-2.0

package park

import "unsafe"

// How the reader's role changes hands: each function is one transition of the handle's word,
// see state.go. None of them waits or tells the kernel anything.

func (h *Handle) load() word { return word(h.word.Load()) }

// swap makes a transition if the word is still what it was, and counts it.
func (h *Handle) swap(from, to word) bool {
	if from == to {
		return h.load() == from
	}
	// The count goes up before the swap and down after it, so that it is never below zero.
	if to.state() == parked {
		h.set.parked.At(unsafe.Pointer(h)).Add(1)
	}
	ok := h.word.CompareAndSwap(uint64(from), uint64(to))
	if h.set != nil && (ok && from.state() == parked || !ok && to.state() == parked) {
		h.set.parked.At(unsafe.Pointer(h)).Add(-1)
	}
	return ok
}

func (h *Handle) park() error {
	for {
		w := h.load()
		next, err := w.park(h.gen)
		if h.swap(w, next) {
			return err
		}
	}
}

// wakeGen takes the role if the handle is parked under the arming gen.
func (h *Handle) wakeGen(gen uint32) bool {
	w := parkedAs(gen)
	next, _ := w.wake(gen)
	return h.swap(w, next)
}

// Kick makes the connection's reader look again: if the handle is parked, Kick
// takes the reader's role for the caller and returns true. If the reader is at
// work, its next Park fails with ErrKicked. A closed handle is left alone.
func (h *Handle) Kick() bool {
	for {
		w := h.load()
		next, won := w.kick()
		if h.swap(w, next) {
			return won
		}
	}
}

// take takes the role for a goroutine that reads without being woken. If it fails, it leaves no note.
func (h *Handle) take() bool {
	w := h.load()
	next, won := w.take()
	return won && h.swap(w, next)
}

// Parked reports whether the handle is parked at this moment.
func (h *Handle) Parked() bool { return h.load().state() == parked }
