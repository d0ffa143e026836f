// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/clock"
)

// Interrupt makes the present wait, or the next one, end with os.ErrDeadlineExceeded,
// and sets flag; unless that can't be, because the wrapper is waited for in its Read. A
// Read of the wrapper is not disturbed, unless it is known to outlive that. As long as it
// was not tested, the wait that ends is one that follows a test.
func (w *wrapped) Interrupt(flag *atomic.Bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trust == distrusted {
		return
	}
	w.kicked, w.flag = true, flag
	flag.Store(true)
	if w.trust == trusted && (!w.inside || w.outlives()) {
		w.pushOut()
	}
}

// SetReadDeadline is the wrapper's, and is to be used instead of it. During a test the
// wrapper is told only when that is over, if t allows for that: a deadline that it has set
// in its last Read would be lost, and with it what the test is to find out. Otherwise it is
// lost, and the wrapper is to have another Read before its socket is waited for.
func (w *wrapped) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = clock.At(t)
	if w.defers() {
		w.owed = true
		return nil
	}
	w.owed = false
	w.lift()
	if w.trust == untested || w.trust == alone {
		w.wiped = w.wiped || w.inside || w.returned.Load() > 0
	}
	return w.conn.SetReadDeadline(t)
}

// defers reports whether a deadline is for later: not while a Read of the wrapper's runs,
// which is to meet it and whose locks nobody knows. mu is held.
func (w *wrapped) defers() bool {
	return !w.inside && w.test != 0 && w.isBefore(w.test+int64(2*w.pace.overdue))
}

// Withdraw leaves the connection to others. After it w must not be used.
func (w *wrapped) Withdraw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lift()
	w.endTest()
	w.credit.end()
}
