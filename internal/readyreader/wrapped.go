// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"fmt"
	"io"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/mem"
)

// wrapped reads a wrapper whose Read is its own: one that counts, replays what it
// sniffed, skips a header. Who reads it waits in its Read, as of any net.Conn: nothing is
// done to the wrapper, or to its socket, that it could see.
//
// A connection of which nothing is expected soon can be left alone between two Reads, if the
// wrapper holds no bytes of its own then. That is known by an account: the kernel counts what the
// socket received, and this counts what the wrapper returned. When the two are equal nothing is
// held, neither by the wrapper nor by the socket. A wrapper that keeps or adds something is never
// even, and is always waited for. Whatever comes after the look has the next Read begin, also where
// somebody else has it by then, a goroutine of the wrapper's that reads ahead: see park.Sharer.
//
// A read deadline that the wrapper has set passes unseen while nobody reads. So the socket is looked
// at every now and then while nobody reads: once a deadline has passed that is not ours, wrappers of
// this type are not left alone any more.
type wrapped struct {
	conn  net.Conn        // the wrapper
	rc    syscall.RawConn // the socket below
	out   Writer          // nil if Write is the wrapper's own, too
	told  func()          // see Detect
	taker bool            // see known.go

	// Owned by the reader.
	err  error // came with the last bytes
	room int   // for the next Read

	returned atomic.Uint64 // bytes that the wrapper returned
	taken    atomic.Uint64 // and that it has taken for good: see known.go
	inside   atomic.Bool   // a Read is under way
	looking  atomic.Bool   // a Look is
	late     atomic.Uint64 // one more than what was returned when a Look found a deadline passed
	ours     atomic.Int64  // until when reads may wait by our deadline, by the clock; 0: there is none
	why      atomic.Pointer[string]
}

const (
	// leastRoom and more are how much is read at once: there is a buffer while a Read waits.
	leastRoom = 4 << 10
	// emptyReads is how often in a row a wrapper may return nothing at all.
	emptyReads = 100
)

// setters are the types of wrappers that set read deadlines.
var setters sync.Map

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
	w := &wrapped{conn: conn, rc: rc, out: out, room: leastRoom, taker: isTaker(conn)}
	if _, sets := setters.Load(reflect.TypeOf(conn)); sets {
		w.distrust(setsDeadlines)
	}
	return w
}

// isCounted reports whether the system counts what the socket receives.
func isCounted(rc syscall.RawConn) (does bool) {
	err := rc.Control(func(fd uintptr) { _, does = received(fd) })
	return err == nil && does
}

// Why a wrapper is never left alone.
const (
	setsDeadlines = "sets the read deadline of its socket"
	makesBytes    = "has returned more than its socket received"
)

func (w *wrapped) distrust(why string) {
	why = fmt.Sprintf("%T %s", w.conn, why)
	w.why.Store(&why)
}

// WhyNot implements Explainer.
func (w *wrapped) WhyNot() string {
	if why := w.why.Load(); why != nil {
		return *why
	}
	if w.returned.Load() > 0 && !w.isSettled() { // before, it may hold what it has looked at
		return fmt.Sprintf("%T has not returned the same number of bytes as its socket received: it holds some, or changes the stream, or is busy", w.conn)
	}
	return ""
}

// Detect implements Detector.
func (w *wrapped) Detect(told func()) { w.told = told }

// RawConn implements TryReader.
func (w *wrapped) RawConn() syscall.RawConn { return w.rc }

// MayWait implements Hesitant.
func (w *wrapped) MayWait() bool { return true }

// resume has the account begin with what others have read of the wrapper.
func (w *wrapped) resume(read uint64) { w.returned.Store(read) }

// isSettled reports whether all that the socket received was returned, but for what was
// taken, and it lives on. A wrapper that has returned more makes bytes of its own, of which the
// account says nothing.
func (w *wrapped) isSettled() bool {
	sum := w.returned.Load() + w.taken.Load() // before what it is compared with, which only grows
	c := count(w.rc)
	if c.empty && c.received < sum {
		w.distrust(makesBytes)
	}
	return c.empty && c.received == sum
}

// ReadOnReady implements Reader. It waits in the wrapper's Read, with a buffer.
func (w *wrapped) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	size = min(size, w.room)
	buf := pool.Get(size)
	p := window(buf, size)
	n, err := 0, io.ErrShortBuffer
	if len(p) > 0 {
		n, err = w.Read(p)
	}
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, err
}

// mayLeave reports whether the connection can be left alone: not once our own deadline has passed, which
// a read has to meet.
func (w *wrapped) mayLeave() bool {
	return w.err == nil && w.why.Load() == nil && !w.isPast(w.ours.Load()) && w.isSettled()
}

// isPast reports whether a deadline has passed; 0 is none.
func (w *wrapped) isPast(t int64) bool { return t != 0 && clock.Now() >= t }

// TryRead implements TryReader. Where the connection can't be left alone it may wait: there is
// something to be had, if not all that the wrapper needs to return any of it.
func (w *wrapped) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if w.mayLeave() {
		return nil, 0, ErrWouldBlock
	}
	return w.ReadOnReady(size, pool)
}

// TryReadInto implements InPlaceReader. What there is may be less than the wrapper waits for.
func (w *wrapped) TryReadInto(p []byte) (int, error) {
	if len(p) > 0 && w.err == nil && !HasInput(w.rc) {
		return 0, ErrWouldBlock
	}
	return w.Read(p)
}

// Read implements net.Conn: n > 0, or an error.
func (w *wrapped) Read(p []byte) (n int, err error) {
	if len(p) == 0 || w.err != nil {
		return 0, w.err
	}
	w.inside.Store(true)
	for range emptyReads {
		if n, err = w.conn.Read(p); n != 0 || err != nil {
			break
		}
	}
	w.inside.Store(false)
	switch {
	case n > 0:
		w.returned.Add(uint64(n))
		w.adapt(n)
		if !isTimeout(err) { // that can be asked for again
			w.err = err
		}
		return n, nil
	case err == nil:
		return 0, io.ErrNoProgress
	}
	return 0, err
}

// adapt makes room for as much as comes.
func (w *wrapped) adapt(n int) {
	switch {
	case n >= w.room:
		w.room = 4 * n
	case n < w.room/8:
		w.room = max(w.room/2, leastRoom)
	}
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

// Interrupt implements Interrupter. A Read is not disturbed: there are wrappers that fail for good
// after a deadline.
func (w *wrapped) Interrupt(*atomic.Bool) { w.learn() }

// SetReadDeadline implements Interrupter.
func (w *wrapped) SetReadDeadline(t time.Time) error {
	w.ours.Store(clock.At(t))
	return w.conn.SetReadDeadline(t)
}

// Look implements Looker.
func (w *wrapped) Look() {
	if w.why.Load() != nil || w.looking.Swap(true) {
		return
	}
	go func() { // it waits as long as somebody else reads
		err := w.rc.Read(func(uintptr) bool { return true })
		w.looking.Store(false)
		if isTimeout(err) {
			w.passed()
		}
	}()
}

// passed follows a Look that found a deadline passed. If it is not ours, and nothing comes until the
// next one finds it, too, it is the wrapper's, who is to see it.
func (w *wrapped) passed() {
	if ours := w.ours.Load(); ours != 0 && clock.Now() >= ours || w.why.Load() != nil {
		return
	}
	if now := w.returned.Load() + 1; w.late.Swap(now) != now {
		return
	}
	setters.Store(reflect.TypeOf(w.conn), nil)
	w.distrust(setsDeadlines)
	if w.told != nil {
		w.told()
	}
}
