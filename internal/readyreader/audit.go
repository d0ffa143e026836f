// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import "time"

// extend gives the wrapper credit.
func (w *wrapped) extend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.given || w.spent || w.trust == untested || w.trust == distrusted {
		return
	}
	w.given, w.waits = true, 0
	w.tick = time.AfterFunc(w.pace.tick, w.audit)
}

// audit ends the credit of a wrapper for which is no longer waited often. Each wait that begins
// later is preceded by a look at the account. This is that of the one that has begun.
func (w *wrapped) audit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.given:
		return
	case w.waits >= creditWaits:
		w.waits = 0
		w.tick.Reset(w.pace.tick)
		return
	}
	w.credit.end()
	if w.waiting && w.holds() {
		w.spent, w.doubted = true, true
		w.pushOut()
	}
}

// holds reports whether the wrapper has something that it took from the socket, while nobody
// is in its Read. mu is held.
func (w *wrapped) holds() bool {
	c, sum := count(w.rc), w.sum()
	w.even(sum, c) // notes if it has made bytes
	return c.open && c.received > sum+c.unread
}
