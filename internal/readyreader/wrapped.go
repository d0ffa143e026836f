// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/internal/clock"
)

// wrapped reads a wrapper whose Read is its own: one that counts, replays what it
// sniffed, skips a header. The wait is on the socket below, the read goes through the
// wrapper, into a buffer that is taken in between.
//
// To wait on the socket is right only while the wrapper holds no bytes of its own. That
// is known by an account: the kernel counts what the socket received, and this counts
// what the wrapper returned. When the two are equal nothing is held, neither by the
// wrapper nor by the socket. A wrapper that keeps or adds something is never even, and
// is waited for in its Read, as is one of which anything else is not certain:
//
//   - Nobody else reads the socket. A goroutine of the wrapper's that reads ahead would
//     take the bytes that the wait is for. It is found out by the lock that a read of
//     a socket holds while it waits.
//   - The wrapper leaves the read deadline alone. If it has an idle timeout, say, its
//     deadline must go on to hold, and would not while nobody waits. So the first reads
//     run under a deadline of ours, which has to pass in the first long wait that follows, or
//     while nobody waits.
//
// See trial.go. The wrapper sees nothing of all this. None of our deadlines ends a Read of it: there
// are wrappers that fail for good after that.
//
// Here is what a wrapped is, its account, and the deadline on its socket; trust.go and
// trial.go find out whether it can be waited for, credit.go and audit.go how much has to be asked
// before each wait, known.go knows some wrappers by name,
// wrapped_read.go reads, and wrapped_deadline.go ends a wait from outside.
type wrapped struct {
	conn net.Conn // the wrapper
	sock net.Conn // the socket below
	rc   syscall.RawConn
	out  Writer // nil if Write is the wrapper's own, too

	due func(fd uintptr) bool // the wait's condition, for rc: see isDue

	// Owned by the reader.
	err   error // came with the last bytes
	found uint8 // how often bytes were found in their place: see trial.go
	habit       // see known.go
	course

	pace  *pace  // never changed
	told  func() // see Detect
	rests bool   // see Rest

	// Written by the reader.
	returned atomic.Uint64 // bytes that the wrapper returned
	taken    atomic.Uint64 // and that it has taken for good: see known.go

	exceeds atomic.Bool // more was returned than the socket received
	locked  atomic.Bool // the wait has the socket's lock

	mu sync.Mutex
	// Guarded by mu.
	trial
	deadline
	credit
	inside  bool         // the wrapper's Read runs
	waiting bool         // the reader waits on the socket
	kicked  bool         // the wait, or else the next one, is to end
	flag    *atomic.Bool // whose that is
	why     string       // distrusted
}

// deadline is the socket's for reads.
type deadline struct {
	until int64 // what it is to be, by the clock, unless it is ours
	mine  bool  // it is ours
	owed  bool  // the wrapper is to be told of until when the test ends
}

// WhyNot implements Explainer.
func (w *wrapped) WhyNot() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.trust == distrusted:
		return w.why
	case w.trust == alone && (w.blind || w.waiting && w.test == 0):
		return fmt.Sprintf("%T could not be told from one that sets the read deadline of its socket, as the machine was too busy; it is looked at again when more was read", w.conn)
	case w.returned.Load() == 0: // it may hold what it has looked at
	case !w.isSettled():
		return fmt.Sprintf("%T has not returned the same number of bytes as its socket received: it holds some, or changes the stream, or is busy", w.conn)
	}
	return ""
}

// Detect implements Detector.
func (w *wrapped) Detect(told func()) { w.told = told }

// Rest implements Rester.
func (w *wrapped) Rest() { w.rests = true }

// RawConn implements TryReader.
func (w *wrapped) RawConn() syscall.RawConn { return w.rc }

// resume has the account begin with what others have read of the wrapper, under deadlines
// of theirs, which may have taken the place of one of its own.
func (w *wrapped) resume(read uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returned.Store(read)
	w.wiped = read > 0
}

// sum is what was returned and taken.
func (w *wrapped) sum() uint64 { return w.returned.Load() + w.taken.Load() }

// even reports whether nothing is missing. A wrapper that has ever returned more than its
// socket received makes bytes of its own, and is not to be believed again. One of which that
// is not known yet may look even by chance, when as many bytes came since: they are unread.
func (w *wrapped) even(sum uint64, c census) bool {
	if c.open && c.received < sum {
		w.exceeds.Store(true)
	}
	return c.open && c.received == sum && c.unread == 0 && !w.exceeds.Load()
}

// settled reports whether all that the socket received was returned, but for what was
// taken, and it lives on.
func (w *wrapped) settled(fd uintptr) bool {
	sum := w.sum() // before what it is compared with, which only grows
	var c census
	c.glance(fd)
	return w.even(sum, c)
}

// isSettled is settled without a descriptor in hand.
func (w *wrapped) isSettled() bool {
	sum := w.sum()
	return w.even(sum, glance(w.rc))
}

// calm follows a wait, or a Read of a taker, that was interrupted.
func (w *wrapped) calm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kicked = false
	w.lift()
}

// lift takes our deadline off the socket. mu is held.
func (w *wrapped) lift() {
	w.test = 0
	if w.mine {
		w.mine, w.wiped = false, true
		w.sock.SetReadDeadline(clock.Time(w.until))
	}
	if w.owed {
		w.owed = false
		w.conn.SetReadDeadline(clock.Time(w.until))
	}
}

// distrust has the wrapper waited for in its Read from now on. mu is held.
func (w *wrapped) distrust(why string) {
	w.trust, w.why = distrusted, fmt.Sprintf("%T %s", w.conn, why)
	w.tell()
	w.lift()
	w.endTest()
	w.credit.end()
	if w.kicked {
		w.kicked = false
		w.flag.Store(false)
	}
}

// tell has the reader come, if it has left the connection alone. mu is held.
func (w *wrapped) tell() {
	if w.told != nil {
		go w.told()
	}
}

func (w *wrapped) known() trust {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trust
}

// endTest is for when nothing remains to be found out. mu is held.
func (w *wrapped) endTest() {
	if w.watch != nil {
		w.watch.Stop()
		w.watch = nil
	}
}

// outlives reports whether a Read may be ended by a deadline: once a header is read.
func (w *wrapped) outlives() bool { return w.taker && w.returned.Load() > 0 }
