// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import "time"

// How it is found out whether a wrapper can be waited for on its socket: see wrapped.

// trust is what is known of a wrapper.
type trust int

const (
	untested trust = iota
	trusted
	distrusted // it is waited for in its Read
)

const (
	// testPatience is how long after a read the wait meets the test's deadline. It is
	// far more than the wrapper takes to return what is there, and less than any idle
	// timeout.
	testPatience = 1500 * time.Millisecond
	// testWithin is when a read under test that has not returned is left in peace.
	testWithin = testPatience / 15
	// testSlack is how late the deadline may be met, on a machine that is busy. Later it
	// may have been another.
	testSlack = 600 * time.Millisecond
	// testOverdue is when after the deadline it is certain that it won't be met.
	testOverdue = 1300 * time.Millisecond
	// testWaits is how many waits are put to the test before the connection counts as busy,
	// and mostTestWaits what that becomes, twice as many each time, for one that is quiet
	// again and again, and never after so few.
	testWaits, mostTestWaits = 32, 256
	// busySize is the buffer that a busy connection waits with, which may become a quiet one.
	busySize = 4 << 10
	// lockPatience is how long a lock may be held by someone who only reads what is there.
	lockPatience = 500 * time.Millisecond
	// lockLooks are how often, lockPause apart, a read that is put to the test makes way.
	lockLooks = 20
	lockPause = 2 * time.Millisecond
)

// isBusy reports whether the next wait is one in the wrapper's Read, as other connections
// wait, because tests have come to nothing: bytes kept coming. A test costs a goroutine and
// timers, and makes way for readers that may not exist while bytes arrive.
func (w *wrapped) isBusy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trust == untested && w.tests == 0 && w.test.IsZero()
}

// regrant has waits put to the test again, after one of a busy connection took so long
// that it seems quiet. mu is held.
func (w *wrapped) regrant(took time.Duration) {
	if took >= testWithin {
		w.grant = min(2*w.grant, mostTestWaits)
		w.tests = w.grant
	}
}

// spare ends the test of a read that takes too long.
func (w *wrapped) spare() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inside {
		w.lift()
	}
}

// waitTesting is the wait after reads that were put to the test. again says that it was
// passed and the wait is to go on. With neither that nor an error the wrapper is to be
// read.
func (w *wrapped) waitTesting() (again bool, err error) {
	if !w.makeWay() {
		return false, nil
	}
	h := &testHelper{w: w, done: make(chan error, 1)}
	go h.run()
	late := time.AfterFunc(w.lockPatience(), h.giveUp)
	defer late.Stop()
	w.mu.Lock()
	if !w.test.IsZero() {
		overdue := time.AfterFunc(time.Until(w.test)+testOverdue, h.overdue)
		defer overdue.Stop()
	}
	w.mu.Unlock()
	err = <-h.done
	w.mu.Lock()
	defer w.mu.Unlock()
	test := w.test
	if !isTimeout(err) {
		return false, renameOp(err, "read")
	}
	own := w.mine
	w.lift()
	switch {
	case w.trust == distrusted:
		return false, nil
	case !test.IsZero() && own && !h.locked: // not even begun
		w.distrust("has its socket read by another goroutine")
		return false, nil
	case !test.IsZero() && own:
		if past := time.Since(test); past >= 0 && past <= testSlack {
			w.trust = trusted // it has left the deadline as it was
			return true, nil
		}
		w.distrust("may set the read deadline of its socket") // whose was it?
		return false, nil
	}
	w.kicked = false
	return false, renameOp(err, "read")
}

// lockPatience is lockPatience, or less where the test's deadline is near, which whoever
// has the lock must not meet.
func (w *wrapped) lockPatience() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.test.IsZero() {
		return lockPatience
	}
	return min(lockPatience, time.Until(w.test)/2)
}

// makeWay lets a goroutine that reads the socket, if there is one, take its lock before
// the test does: it must not wait for it, or it would meet the test's deadline. It
// reports whether there still is nothing to read.
func (w *wrapped) makeWay() bool {
	w.mu.Lock()
	testing := !w.test.IsZero()
	if testing && w.tests > 0 {
		w.tests--
	}
	w.mu.Unlock()
	for range lockLooks {
		if !testing {
			break
		}
		time.Sleep(lockPause)
		if !w.isSettled() {
			return false
		}
	}
	return true
}

// testHelper waits on the socket for a reader who must be able to go: somebody else may
// have the socket's lock, and keep it until there is input.
type testHelper struct {
	w    *wrapped
	done chan error

	// Guarded by w.mu.
	locked    bool // it has the lock
	abandoned bool
}

func (h *testHelper) run() {
	err := h.w.rc.Read(func(fd uintptr) bool {
		h.w.mu.Lock()
		h.locked = !h.abandoned
		h.w.mu.Unlock()
		return !h.locked || !h.w.settled(fd)
	})
	h.done <- err
}

// giveUp distrusts a wrapper whose socket somebody else reads.
func (h *testHelper) giveUp() {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if h.locked || h.abandoned {
		return
	}
	h.abandoned = true
	h.w.distrust("has its socket read by another goroutine")
	h.w.lift()
	h.done <- nil
}

// overdue distrusts a wrapper that has changed the deadline of the test.
func (h *testHelper) overdue() {
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trust == untested && h.locked && !w.inside && !w.test.IsZero() && time.Since(w.test) > 0 {
		w.distrust("sets the read deadline of its socket")
		w.sock.SetReadDeadline(time.Unix(1, 0))
	}
}
