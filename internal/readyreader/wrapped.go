// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"fmt"
	"io"
	"net"
	"os"
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
//     run under a deadline of ours; the wait that follows them has to meet it. Where bytes
//     keep coming before it does, the connection is busy: it is waited for in its Read,
//     without any of this, until a Read has taken so long that a test may succeed.
//
// The wrapper sees nothing of all this. None of our deadlines ends a Read of it: there
// are wrappers that fail for good after that.
type wrapped struct {
	conn net.Conn // the wrapper
	sock net.Conn // the socket below
	rc   syscall.RawConn
	out  Writer // nil if Write is the wrapper's own, too

	unsettled func(fd uintptr) bool // the wait's condition, for rc

	// Owned by the reader.
	err    error // came with the last bytes
	filled bool  // the last bytes filled the buffer: there may be more

	habit // see known.go

	// Written by the reader.
	returned atomic.Uint64 // bytes that the wrapper returned
	taken    atomic.Uint64 // and that it has taken for good: see known.go

	mu sync.Mutex
	// Guarded by mu.
	trust  trust
	why    string       // distrusted
	inside bool         // the wrapper's Read runs
	kicked bool         // the wait, or else the next one, is to end
	flag   *atomic.Bool // whose that is
	tests  int          // how many more waits are put to the test
	grant  int          // what tests began with
	began  time.Time    // when the Read that is not put to the test began
	test   time.Time    // the deadline that the test has set; zero: none
	mine   bool         // the socket's deadline is ours
	until  time.Time    // what it is to be otherwise
}

// WhyNot implements explainer.
func (w *wrapped) WhyNot() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.trust == distrusted:
		return w.why
	case w.trust == untested && w.tests == 0 && w.inside:
		return fmt.Sprintf("%T has been busy; whether it may be parked is found out when it is quiet after more was read", w.conn)
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
	w := &wrapped{conn: conn, sock: sock, rc: rc, out: out, tests: testWaits, grant: testWaits}
	w.unsettled = func(fd uintptr) bool { return !w.settled(fd) }
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
	n, open := received(fd)
	return open && n == w.returned.Load()+w.taken.Load()
}

// isCounted reports whether the system counts what the socket receives.
func isCounted(rc syscall.RawConn) (does bool) {
	err := rc.Control(func(fd uintptr) { _, does = received(fd) })
	return err == nil && does
}

// isSettled is settled without a descriptor in hand.
func (w *wrapped) isSettled() (is bool) {
	err := w.rc.Control(func(fd uintptr) { is = w.settled(fd) })
	return err == nil && is
}

// ReadOnReady implements Reader.
func (w *wrapped) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if w.isBusy() {
		if !w.filled {
			size = min(size, busySize)
		}
		return w.lend(size, pool)
	}
	if err := w.wait(); err != nil {
		return nil, 0, err
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

// Read implements net.Conn: it waits in the wrapper.
func (w *wrapped) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.conn.Read(p)
	w.returned.Add(uint64(max(n, 0)))
	return n, err
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
	stop := w.enter()
	for range emptyReads {
		if n, err = w.conn.Read(p); n != 0 || err != nil {
			break
		}
	}
	w.leave(stop)
	w.filled = n == len(p)
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
func (w *wrapped) enter() (stop *time.Timer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside = true
	if w.kicked && w.outlives() {
		w.mine = true
		w.sock.SetReadDeadline(time.Unix(1, 0))
		return nil
	}
	if w.trust != untested {
		w.lift()
		return nil
	}
	now := time.Now()
	test := now.Add(testPatience)
	if w.tests == 0 || !w.isBefore(test) {
		w.began = now
		w.lift()
		return nil
	}
	w.test = test
	w.mine = true
	w.sock.SetReadDeadline(w.test)
	return time.AfterFunc(testWithin, w.spare)
}

// isBefore reports whether a test can end at t without getting in the way of the deadline
// that there is. mu is held.
func (w *wrapped) isBefore(t time.Time) bool {
	return w.until.IsZero() || w.until.After(t.Add(testSlack))
}

func (w *wrapped) leave(stop *time.Timer) {
	if stop != nil {
		stop.Stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside = false
	if w.trust == untested && w.tests == 0 {
		w.regrant(time.Since(w.began))
	}
}

// lift takes our deadline off the socket. mu is held.
func (w *wrapped) lift() {
	w.test = time.Time{}
	if w.mine {
		w.mine = false
		w.sock.SetReadDeadline(w.until)
	}
}

// wait returns when the wrapper is to be read. It waits while that has nothing to give.
func (w *wrapped) wait() error {
	if w.err != nil {
		return nil
	}
	switch w.known() {
	case distrusted:
		return nil
	case untested:
		if !w.isSettled() {
			return nil
		}
		if again, err := w.waitTesting(); !again {
			return err
		}
	}
	return w.waitTrusting()
}

func (w *wrapped) waitTrusting() error {
	w.mu.Lock()
	if w.kicked {
		w.kicked = false
		w.lift()
		w.mu.Unlock()
		return opError("read", w.sock, os.ErrDeadlineExceeded)
	}
	w.mu.Unlock()
	err := w.rc.Read(w.unsettled)
	if !isTimeout(err) {
		return renameOp(err, "read")
	}
	w.calm()
	return renameOp(err, "read")
}

// distrust has the wrapper waited for in its Read from now on. mu is held.
func (w *wrapped) distrust(why string) {
	w.trust, w.why = distrusted, fmt.Sprintf("%T %s", w.conn, why)
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
		w.mine = true
		w.sock.SetReadDeadline(time.Unix(1, 0))
	}
}

// SetReadDeadline is the wrapper's, and is to be used instead of it.
func (w *wrapped) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	err := w.conn.SetReadDeadline(t)
	if w.test.IsZero() || !w.isBefore(w.test) {
		w.mine, w.test = false, time.Time{}
		return err
	}
	w.sock.SetReadDeadline(w.test)
	return err
}

// Withdraw leaves the connection to others. After it w must not be used.
func (w *wrapped) Withdraw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lift()
}
