// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"google.golang.org/grpc/internal/clock"
)

// How it is found out whether a wrapper can be waited for on its socket: see wrapped.
//
// Until it is known that nobody else reads the socket, the reader looks at it again and
// again, and does not take its lock for long: somebody else would wait for that. It is
// known when the connection was quiet for a while and its lock is free then. On a busy
// connection it is known when bytes that arrived while the reader did not read lay where
// they were, again and again, and twice for so long that whoever waits for them
// had taken them. From then on the reader waits on the socket, which costs a busy
// connection next to nothing, under a deadline that is renewed as long as it is busy. When
// the deadline is met, because the connection fell silent, nothing remains to be found out.
//
// Who is alone need not wait for that. A connection that was quiet when that was found may park
// under the test's deadline, which nobody waits under then: a timer looks whether it has passed
// once it should have. So where many connections begin at once they are not all busy for the time
// that a test takes.

const (
	firstPause, lastPause = 20 * time.Microsecond, 2 * time.Millisecond // between looks

	// inPlace is how often bytes have to lie where they are on a busy connection, and of
	// longInPlace of these times one for longLooks pauses.
	inPlace, longInPlace, longLooks = 48, 24, 10

	// lockLooks and overdueLooks are how often something is looked for before it counts as
	// never.
	lockLooks, overdueLooks = 10, 4

	// quietLooks is how often to look at least before a connection counts as quiet: whoever else
	// reads it had its turn in between. More would take long on a machine that is busy.
	quietLooks = 12

	// nearly is how long before the test's deadline it is looked whether another one has passed,
	// where nobody waits.
	nearly = 100 * time.Millisecond

	// blindSize is the buffer that a Read waits with.
	blindSize = 4 << 10
)

// watchInput looks for a while whether there is input, without taking the socket's lock,
// and reports whether there was none all the time.
func (w *wrapped) watchInput() (quiet bool) {
	if !w.isSettled() {
		return false
	}
	pause, begin := firstPause, clock.Now()
	for looks := 0; looks < quietLooks || clock.Now()-begin < int64(w.pace.quiet); looks++ {
		pause = min(2*pause, lastPause)
		doze(pause)
		if !w.isSettled() {
			w.findInPlace()
			return false
		}
	}
	return true
}

// A sleep of Go's takes a millisecond at least while nothing else is to be done, and so would each
// of the first calls of a connection. So the system is asked for short ones, which takes a thread
// each, as long as there are few.
const (
	shortDoze = 200 * time.Microsecond
	maxDozers = 2
)

var dozers atomic.Int32

// doze sleeps between two looks.
func doze(d time.Duration) {
	if d > shortDoze {
		time.Sleep(d)
		return
	}
	defer dozers.Add(-1)
	if dozers.Add(1) > maxDozers {
		time.Sleep(d)
		return
	}
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // a signal may end it
}

// findInPlace looks where the bytes are that came while the reader did not read. The
// wrapper held none before.
func (w *wrapped) findInPlace() {
	for i := range longLooks {
		switch c := count(w.rc); {
		case !c.open || c.received < w.sum():
			return
		case c.received > w.sum()+c.unread:
			w.mu.Lock()
			w.distrust("has its socket read by another goroutine")
			w.mu.Unlock()
			return
		}
		if i == 0 {
			if w.found++; w.found%longInPlace != 0 {
				return
			}
		}
		time.Sleep(lastPause)
	}
	if w.found >= inPlace {
		w.isAlone()
	}
}

// findLock finds out whether the socket's lock is free on a quiet connection. If input has
// come meanwhile, that says nothing: somebody else may be about to use it.
func (w *wrapped) findLock() {
	free := make(chan bool, 1)
	var began atomic.Bool
	go func() {
		even := true
		began.Store(true)
		_ = w.rc.Read(func(fd uintptr) bool { // when it returns, the lock was had
			even = w.settled(fd)
			return true
		})
		free <- even
	}()
	for looks := 0; looks < lockLooks; { // on a machine that is busy they take longer, as the other does
		select {
		case even := <-free:
			if even {
				w.isAlone()
			}
			return
		case <-time.After(w.pace.lock / lockLooks):
			if began.Load() {
				looks++
			}
		}
	}
	w.mu.Lock()
	w.distrust("has its socket read by another goroutine")
	w.mu.Unlock()
}

func (w *wrapped) isAlone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trust == untested {
		w.trust = alone
	}
}

// setTest begins or renews the test of a wrapper that is about to be read. mu is held.
func (w *wrapped) setTest() {
	if w.owed {
		w.lift()
	}
	now := clock.Now()
	if w.test != 0 && w.test-now > int64(w.pace.patience-w.pace.renewal) {
		return
	}
	test := now + int64(w.pace.patience)
	if !w.isBefore(test) {
		w.lift()
		return
	}
	w.test, w.mine, w.looks = test, true, 0
	w.sock.SetReadDeadline(clock.Time(test))
	if d := w.pace.patience - w.pace.margin; w.watch == nil {
		w.watch = time.AfterFunc(d, w.watchTest)
	} else {
		w.watch.Reset(d)
	}
}

// isBefore reports whether a test can end at t without getting in the way of the deadline
// that there is. mu is held.
func (w *wrapped) isBefore(t int64) bool {
	return w.until == 0 || w.until > t+int64(w.pace.slack)
}

// watchTest runs before the deadline of the test, and sees to it that only the reader
// meets it: in its wait, with the socket's lock. From the deadline on it looks whether that
// is what happens. It looks more than once before it believes the worse: on a machine that
// is busy the reader may come late, and so does the next look.
func (w *wrapped) watchTest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trust != untested && w.trust != alone {
		return
	}
	left, waits := time.Duration(w.test-clock.Now()), w.waiting && w.locked.Load()
	switch {
	case w.test == 0:
		w.watchReader()
	case left > w.pace.margin: // renewed
		w.watch.Reset(left - w.pace.margin)
	case w.trust == alone && !w.inside && !w.waiting:
		w.watchRest(left)
	case !waits:
		w.lift()
		w.looks = 0
		w.watch.Reset(w.pace.quiet)
	case left > 0:
		w.watch.Reset(left)
	case w.looks == 0:
		w.looks, w.late = 1, -left
		w.watch.Reset(w.pace.overdue)
	case w.looks < overdueLooks:
		w.looks++
		w.watch.Reset(w.pace.overdue / overdueLooks)
	default:
		w.distrust("sets the read deadline of its socket")
		w.pushOut()
	}
}

// standing says what is known of the wrapper, and whether it is being tested.
func (w *wrapped) standing() (known trust, tests bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trust, w.test != 0
}

// watchRest looks after a test that ends in so long, and under whose deadline nobody waits or
// reads: whether one has passed. mu is held, but not for that, which takes the socket's lock.
func (w *wrapped) watchRest(left time.Duration) {
	test := w.test
	w.mu.Unlock()
	err := w.rc.Read(func(uintptr) bool { return true })
	w.mu.Lock()
	past := time.Duration(clock.Now() - test)
	switch {
	case w.trust != alone || w.test != test: // this one is over
	case w.inside || w.waiting: // the reader has come
		w.watch.Reset(w.pace.quiet)
	case err == nil:
		w.watchOn(left)
	case !isTimeout(err): // it is closed
		w.endTest()
	case past < 0:
		w.distrust("sets the read deadline of its socket")
	case w.looks == 1 && past <= w.pace.patience, w.looks > 1 && past <= w.pace.slack+w.late:
		w.trust = trusted
		w.endTest()
		w.lift()
	default: // too late to tell whose it was
		w.lift()
		w.tell()
	}
}

// watchOn follows a look that has found no deadline passed. Of one that passes between two looks it
// is known whose it was if the first was shortly before the end of the test, and the second the one
// that was to be at its end, or little later. mu is held.
func (w *wrapped) watchOn(left time.Duration) {
	again := w.pace.overdue / overdueLooks
	switch {
	case left > nearly:
		again = left - nearly
	case left > 0:
		w.looks, w.late = 1, 0
		again = left
	case w.looks < 2: // it is late itself, as the deadline is
		w.looks, w.late = 2, -left
	case w.looks < 2+overdueLooks:
		w.looks++
	default:
		w.distrust("sets the read deadline of its socket")
		return
	}
	w.watch.Reset(again)
}

// watchReader looks whether the reader has to wait for the socket's lock, although nobody
// else was found to have it. It is freed then, which costs the other one its wait, and maybe
// the connection: better than to wait for good. mu is held.
func (w *wrapped) watchReader() {
	switch {
	case !w.waiting || w.locked.Load():
	case w.looks < lockLooks:
		w.looks++
		w.watch.Reset(w.pace.quiet)
	default:
		w.distrust("has its socket read by another goroutine")
		w.pushOut()
	}
}

// pushOut ends the wait of whoever waits for the socket. mu is held.
func (w *wrapped) pushOut() {
	w.mine = true
	w.sock.SetReadDeadline(time.Unix(1, 0))
}

// timedOut follows a wait that a deadline has ended. With neither again nor an error the
// wrapper is to be read.
func (w *wrapped) timedOut(err error) (again bool, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	test := w.test
	tests := test != 0 && w.mine
	w.waiting = false
	w.lift()
	switch {
	case w.trust == distrusted:
		return false, nil
	case w.doubted:
		w.doubted = false
		return false, nil
	case tests:
		w.judge(time.Duration(clock.Now() - test))
		return w.trust != distrusted, nil
	case (!w.kicked || w.trust == alone) && (w.until == 0 || clock.Now() < w.until):
		w.distrust("sets the read deadline of its socket")
		return false, nil
	}
	w.kicked = false
	return false, renameOp(err, "read")
}

// judge ends a test whose wait has ended so long past its deadline. If that was not ours,
// the wrapper has to meet it, or to set it again. How late it may be is as late as the look
// came that was to be at the same time. mu is held.
func (w *wrapped) judge(past time.Duration) {
	switch {
	case past < 0:
		w.distrust("sets the read deadline of its socket")
	case w.looks == 0 || past <= w.pace.slack+w.late:
		w.trust = trusted // it has left the deadline as it was
		w.endTest()
	}
}

// beginWait precedes a wait on the socket, if what is known of the wrapper allows for that.
// blind says that the wrapper has to be waited for in its Read this time: what deadline it may
// have set was lifted.
func (w *wrapped) beginWait() (known trust, blind bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.trust == untested || w.trust == distrusted:
		return w.trust, false, nil
	case w.trust == alone:
		if w.test != 0 && w.test <= clock.Now() {
			w.lift() // it would be met at once, whoever has set it
		}
		if w.wiped {
			w.blind = true
			return w.trust, true, nil
		}
	case w.kicked:
		w.kicked = false
		w.lift()
		return w.trust, false, opError("read", w.sock, os.ErrDeadlineExceeded)
	}
	w.locked.Store(false)
	w.waiting, w.woken, w.brief = true, false, w.given
	w.waits++
	return w.trust, false, nil
}
