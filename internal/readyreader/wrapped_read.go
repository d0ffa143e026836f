// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"io"
	"net"
	"os"
	"syscall"

	"google.golang.org/grpc/mem"
)

// emptyReads is how often in a row a wrapper may return nothing at all.
const emptyReads = 100

// newWrapped returns nil if what is below conn can't be waited for.
func newWrapped(conn net.Conn, out Writer) *wrapped {
	sock := SocketBelow(conn)
	if sock == nil {
		sock = conn // it may still show its descriptor
	}
	rc := rawConnOf(sock)
	if rc == nil || !isCounted(rc) {
		return nil
	}
	w := &wrapped{conn: conn, sock: sock, rc: rc, out: out, pace: &usualPace}
	w.due = w.isDue
	if isTaker(conn) {
		w.takes()
	}
	return w
}

// isCounted reports whether the system counts what the socket receives.
func isCounted(rc syscall.RawConn) (does bool) {
	err := rc.Control(func(fd uintptr) { _, does = received(fd) })
	return err == nil && does
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
// something to be had, if not all that the wrapper needs to return any of it. Where the account is
// even, and the wrapper is neither trusted nor tested, the error is that of a deadline: it is to be
// waited for.
func (w *wrapped) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	switch known, tests := w.standing(); {
	case w.err != nil || known == distrusted || !w.isSettled():
	case known == untested, known == alone && !tests: // what it is waits to be found out
		return nil, 0, os.ErrDeadlineExceeded
	default:
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

// MayWait implements Hesitant.
func (w *wrapped) MayWait() bool { return true }

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

// WriteWaits implements WaitingWriter.
func (w *wrapped) WriteWaits() bool { return w.out == nil || WriteWaits(w.out) }

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
	w.course.read(n, len(p))
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

// enter precedes a read of the wrapper. It takes our deadline off the socket, or, as
// long as the wrapper is to be tested, sets that of the test.
func (w *wrapped) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside, w.waiting = true, false
	if w.doubted { // input came just before it was taken out of its wait
		w.doubted = false
		w.lift()
	}
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

// wait returns when the wrapper is to be read. It waits while that has nothing to give,
// unless it is to be read blind.
func (w *wrapped) wait() (blind bool, err error) {
	for w.err == nil {
		known, blind, err := w.beginWait()
		switch {
		case blind || err != nil || known == distrusted:
			return blind, err
		case known == untested:
			if !w.watchInput() {
				return false, nil
			}
			w.findLock()
			if known, tests := w.standing(); w.rests && known == alone && tests {
				return false, ErrWouldBlock
			}
			continue
		}
		switch err = w.rc.Read(w.due); {
		case err == nil:
			return false, nil
		case !isTimeout(err):
			return false, renameOp(err, "read")
		}
		if again, err := w.timedOut(err); !again {
			return false, err
		}
	}
	return false, nil
}

// isDue reports whether the wrapper is to be read, which is asked when a wait begins, and
// whenever the socket has woken the reader. The account was even, or taken to be, when it
// began: then a look at the socket is enough.
func (w *wrapped) isDue(fd uintptr) bool {
	w.locked.Store(true)
	switch {
	case w.woken && w.isLone():
		w.had = whatever
		return true
	case w.woken:
		var known bool
		w.had, known = unread(fd)
		if known && w.had == 0 && !hasCome(fd) {
			w.lone = 0
			return false
		}
		return true
	case w.brief && w.clean:
		w.woken = !hasCome(fd)
		if !w.woken {
			w.lone = 0
			w.had, _ = unread(fd)
		}
		return !w.woken
	}
	sum := w.sum()
	var c census
	c.glance(fd)
	w.had, w.woken = c.unread, w.even(sum, c)
	switch {
	case !w.woken:
		w.lone = 0
		if w.had == 0 {
			w.evens = 0
		}
	case w.earns(w.pace.tick):
		w.extend()
	}
	return !w.woken
}

// probe reads what the wrapper holds, and nothing of the socket: the error is that of a
// deadline then.
func (w *wrapped) probe(size int, pool mem.BufferPool) (*[]byte, int, error) {
	w.mu.Lock()
	w.kicked = true
	w.mu.Unlock()
	defer w.calm()
	return w.lend(size, pool)
}
