// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/mem"
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
//     run under a deadline of ours, which the first long wait that follows has to meet.
//
// See trial.go. The wrapper sees nothing of all this. None of our deadlines ends a Read of it: there
// are wrappers that fail for good after that.
type wrapped struct {
	conn net.Conn // the wrapper
	sock net.Conn // the socket below
	rc   syscall.RawConn
	out  Writer // nil if Write is the wrapper's own, too

	unsettled func(fd uintptr) bool // the wait's condition, for rc

	// Owned by the reader.
	err   error // came with the last bytes
	found int   // how often bytes were found in their place: see trial.go

	habit // see known.go

	pace *pace // never changed

	// Written by the reader.
	returned atomic.Uint64 // bytes that the wrapper returned
	taken    atomic.Uint64 // and that it has taken for good: see known.go

	exceeds atomic.Bool // more was returned than the socket received
	locked  atomic.Bool // the wait has the socket's lock

	mu sync.Mutex
	// Guarded by mu.
	trial
	why     string       // distrusted
	inside  bool         // the wrapper's Read runs
	waiting bool         // the reader waits on the socket
	kicked  bool         // the wait, or else the next one, is to end
	flag    *atomic.Bool // whose that is
	deadline
}

// deadline is the socket's for reads.
type deadline struct {
	mine  bool      // it is ours
	until time.Time // what it is to be otherwise
	owed  bool      // which the wrapper is to be told when the test ends
}

// WhyNot implements Explainer.
func (w *wrapped) WhyNot() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.trust == distrusted:
		return w.why
	case w.trust == alone && w.blind:
		return fmt.Sprintf("%T could not be told from one that sets the read deadline of its socket, as the machine was too busy; it is looked at again when more was read", w.conn)
	case w.returned.Load() == 0: // it may hold what it has looked at
	case !w.isSettled():
		return fmt.Sprintf("%T has not returned the same number of bytes as its socket received: it holds some, or changes the stream, or is busy", w.conn)
	}
	return ""
}

// emptyReads is how often in a row a wrapper may return nothing at all.
const emptyReads = 100

// newWrapped returns nil if what is below conn can't be waited for.
func newWrapped(conn net.Conn, out Writer) *wrapped {
	sock := below(conn)
	if sock == nil {
		sock = conn // it may still show its descriptor
	}
	rc := rawConnOf(sock)
	if rc == nil || !isCounted(rc) {
		return nil
	}
	w := &wrapped{conn: conn, sock: sock, rc: rc, out: out, pace: &usualPace}
	w.unsettled = func(fd uintptr) bool {
		w.locked.Store(true)
		return !w.settled(fd)
	}
	if isTaker(conn) {
		w.takes()
	}
	return w
}

// RawConn implements TryReader.
func (w *wrapped) RawConn() syscall.RawConn { return w.rc }

// settled reports whether all that the socket received was returned, but for what was
// taken, and it lives on.
func (w *wrapped) settled(fd uintptr) bool {
	sum := w.sum() // before what it is compared with, which only grows
	n, open := received(fd)
	return w.even(sum, census{received: n, open: open})
}

// sum is what was returned and taken.
func (w *wrapped) sum() uint64 { return w.returned.Load() + w.taken.Load() }

// even reports whether nothing is missing. A wrapper that has ever returned more than its
// socket received makes bytes of its own, and is not to be believed again.
func (w *wrapped) even(sum uint64, c census) bool {
	if c.open && c.received < sum {
		w.exceeds.Store(true)
	}
	return c.open && c.received == sum && !w.exceeds.Load()
}

// isCounted reports whether the system counts what the socket receives.
func isCounted(rc syscall.RawConn) (does bool) {
	err := rc.Control(func(fd uintptr) { _, does = received(fd) })
	return err == nil && does
}

// isSettled is settled without a descriptor in hand.
func (w *wrapped) isSettled() bool {
	sum := w.sum()
	return w.even(sum, count(w.rc, false))
}

// ReadOnReady implements Reader.
func (w *wrapped) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	blind, err := w.wait()
	if err != nil {
		return nil, 0, err
	}
	if blind {
		size = min(size, blindSize)
	}
	return w.lend(size, pool)
}

// TryRead implements TryReader. Where the account is not even it may wait: there is
// something to be had, if not all that the wrapper needs to return any of it.
func (w *wrapped) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if w.err == nil && w.known() != distrusted && w.isSettled() {
		return nil, 0, ErrWouldBlock
	}
	if w.outlives() {
		if buf, n, err := w.probe(size, pool); !isTimeout(err) {
			return buf, n, err
		}
		if w.isSettled() {
			return nil, 0, ErrWouldBlock
		}
	}
	return w.lend(size, pool)
}

// TryReadInto implements InPlaceReader, as TryRead does.
func (w *wrapped) TryReadInto(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if w.err == nil && (w.known() == distrusted || w.taker && !w.learned || w.isSettled()) {
		return 0, ErrWouldBlock
	}
	return w.through(p)
}

// Write implements Writer.
func (w *wrapped) Write(p []byte) (int, error) {
	if w.out != nil {
		return w.out.Write(p)
	}
	return w.conn.Write(p)
}

// TryWrite implements Writer. What a Write of the wrapper's own does nobody knows, so it
// is left to who may wait.
func (w *wrapped) TryWrite(p []byte) (int, error) {
	if w.out != nil {
		return w.out.TryWrite(p)
	}
	return 0, ErrWouldBlock
}

// ReadBlind implements BlindReader.
func (w *wrapped) ReadBlind(p []byte) (int, error) {
	n, err := w.conn.Read(p)
	w.returned.Add(uint64(max(n, 0)))
	return n, err
}

// Read implements net.Conn.
func (w *wrapped) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if _, err := w.wait(); err != nil {
		return 0, err
	}
	return w.through(p)
}

func (w *wrapped) lend(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if w.err != nil {
		return nil, 0, w.err
	}
	buf := pool.Get(size)
	p := window(buf, size)
	n, err := 0, io.ErrShortBuffer
	if len(p) > 0 {
		n, err = w.through(p)
	}
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, err
}

// through reads through the wrapper: n > 0, or an error.
func (w *wrapped) through(p []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	w.enter()
	for range emptyReads {
		if n, err = w.conn.Read(p); n != 0 || err != nil {
			break
		}
	}
	w.leave()
	switch {
	case n > 0:
		w.returned.Add(uint64(n))
		if !isTimeout(err) { // that can be asked for again
			w.err = err
		}
		return n, nil
	case err == nil:
		return 0, io.ErrNoProgress
	case w.taker && isTimeout(err):
		w.learn()
		w.calm()
	}
	return 0, err
}

// calm follows a wait, or a Read of a taker, that was interrupted.
func (w *wrapped) calm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kicked = false
	w.lift()
}

// enter precedes a read of the wrapper. It takes our deadline off the socket, or, as
// long as the wrapper is to be tested, sets that of the test.
func (w *wrapped) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside, w.waiting = true, false
	switch {
	case w.blind:
	case w.kicked && w.outlives():
		w.pushOut()
	case w.trust == untested || w.trust == alone:
		w.setTest()
	default:
		w.lift()
	}
	w.wiped = false
}

func (w *wrapped) leave() {
	w.mu.Lock()
	w.inside, w.blind = false, false
	w.mu.Unlock()
}

// lift takes our deadline off the socket. mu is held.
func (w *wrapped) lift() {
	w.test = time.Time{}
	if w.mine {
		w.mine, w.wiped = false, true
		w.sock.SetReadDeadline(w.until)
	}
	if w.owed {
		w.owed = false
		w.conn.SetReadDeadline(w.until)
	}
}

// wait returns when the wrapper is to be read. It waits while that has nothing to give,
// unless it is to be read blind.
func (w *wrapped) wait() (blind bool, err error) {
	for w.err == nil {
		switch w.known() {
		case distrusted:
			return false, nil
		case untested:
			if !w.watchInput() {
				return false, nil
			}
			w.findLock()
		default:
			if blind, err = w.beginWait(); blind || err != nil {
				return blind, err
			}
			switch err = w.rc.Read(w.unsettled); {
			case err == nil:
				return false, nil
			case !isTimeout(err):
				return false, renameOp(err, "read")
			}
			if again, err := w.timedOut(err); !again {
				return false, err
			}
		}
	}
	return false, nil
}

// distrust has the wrapper waited for in its Read from now on. mu is held.
func (w *wrapped) distrust(why string) {
	w.trust, w.why = distrusted, fmt.Sprintf("%T %s", w.conn, why)
	w.lift()
	w.endTest()
	if w.kicked {
		w.kicked = false
		w.flag.Store(false)
	}
}

func (w *wrapped) known() trust {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trust
}

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
	w.until = t
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
	return !w.inside && !w.test.IsZero() && w.isBefore(w.test.Add(2*w.pace.overdue))
}

// Withdraw leaves the connection to others. After it w must not be used.
func (w *wrapped) Withdraw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lift()
	w.endTest()
}
