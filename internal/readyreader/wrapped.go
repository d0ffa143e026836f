// SPDX-License-Identifier: Apache-2.0

//go:build unix || (windows && !race)

package readyreader

import (
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// wrapped reads a wrapper with a Read of its own: one that counts, replays what it sniffed, or skips a
// header. A goroutine that waits for input always waits in that Read, as with any net.Conn. So nothing is
// done to the wrapper or to its socket that either could notice, and nothing has to be known about the
// wrapper.
//
// To wait for the socket instead would be wrong for a wrapper that holds bytes, that has a goroutine which
// reads ahead, or that sets a read deadline, if only while its Read runs. What the kernel counts shows
// whether a wrapper holds bytes. The other two can't be told from outside without setting a deadline, and
// some wrappers fail for good after a deadline has ended their Read. So a wrapper is waited for without a
// goroutine only if it says what it does (see embed.go), or is known (see known.go).
//
// Such a wait still costs little: see [Layer]. The bytes that it reads are kept here for the next read.
type wrapped struct {
	BaseLayer
	conn net.Conn // the wrapper
	rc   syscall.RawConn
	out  Layer // is written

	// Owned by the reader. The bytes that WaitInRead has read are (*buf)[r:n].
	buf  *[]byte
	pool mem.BufferPool // buf's
	r, n int
	err  error // the error that follows them
	room int   // how much WaitInRead reads at once
}

const (
	// idleRoom is how much is read at first on a connection that was left alone: the buffer is held while
	// the Read waits.
	idleRoom = 256
	// leastRoom and mostRoom are the bounds of room, for a busy connection.
	leastRoom = 512
	mostRoom  = 16 << 10
	// emptyReads is how many Reads of a wrapper in a row may return nothing at all.
	emptyReads = 100
)

// newWrapped returns nil if there is no socket below conn.
func newWrapped(conn net.Conn, out Layer) Layer {
	sock := SocketBelow(conn)
	if sock == nil {
		sock = conn // it may still show its descriptor
	}
	rc := rawConnOf(sock)
	if rc == nil || !neverWaits(rc) { // HasInput would wait
		return nil
	}
	return &wrapped{conn: conn, rc: rc, out: out, room: leastRoom}
}

// Can implements Layer.
func (w *wrapped) Can() Ability {
	return TriesReads | WaitsInRead | writeAbilitiesOver(w.out)
}

// writeAbilitiesOver returns what a wrapper can do that waits for the socket below it and writes by out. Where out
// holds bytes, it may have taken some that are not with the socket yet.
func writeAbilitiesOver(out Layer) Ability {
	can := out.Can()
	if can.Has(HoldsBytes) {
		return can & TriesWrites
	}
	return can&TriesWrites | OnSocket
}

// WhyNot implements Layer.
func (w *wrapped) WhyNot() string { return readsItself(w.conn) }

// WaitInRead implements Layer.
func (w *wrapped) WaitInRead(idle bool, pool mem.BufferPool) {
	if w.n > 0 || w.err != nil {
		return
	}
	size := w.room
	if idle {
		size = idleRoom
	}
	buf, n, err := readInto(size, pool, w.through)
	if n == 0 {
		w.err = err
		return
	}
	w.buf, w.pool, w.r, w.n = buf, pool, 0, n
	if !idle {
		w.adapt(n)
	}
}

// adapt fits room to the n bytes that the last wait has read.
func (w *wrapped) adapt(n int) {
	switch {
	case n >= w.room:
		w.room = min(2*w.room, mostRoom)
	case n < w.room/4:
		w.room = max(w.room/2, leastRoom)
	}
}

// RawConn implements Layer: the socket below.
func (w *wrapped) RawConn() syscall.RawConn { return w.rc }

// ReadOnReady implements Layer. It holds a buffer while it waits.
func (w *wrapped) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if w.n > 0 || w.err != nil {
		return w.TryRead(size, pool)
	}
	buf, n, err := readInto(size, pool, w.through)
	if n > 0 {
		err = nil // through keeps it
	}
	return buf, n, err
}

// readInto has read, which calls the program's code, fill a buffer of the pool. If that brings nothing, the buffer goes
// back, also if the program's code panics or ends the goroutine.
func readInto(size int, pool mem.BufferPool, read func([]byte) (int, error)) (buf *[]byte, n int, err error) {
	buf = pool.Get(size)
	defer func() {
		if n <= 0 {
			pool.Put(buf)
			buf, n = nil, 0
		}
	}()
	n, err = read(window(buf, size))
	return buf, n, err
}

// TryRead implements Layer: it returns what WaitInRead has read.
func (w *wrapped) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if w.n == 0 {
		return nil, 0, w.fault()
	}
	if _, lent := pool.(*Loan); !lent && w.r == 0 {
		buf, n := w.buf, w.n // it is from the same pool, see Layer
		w.buf, w.pool, w.n = nil, nil, 0
		return buf, n, nil
	}
	buf := pool.Get(size)
	p := window(buf, size)
	if len(p) == 0 {
		pool.Put(buf)
		return nil, 0, io.ErrShortBuffer
	}
	return buf, w.take(p), nil
}

// TryReadInto implements Layer. If the socket has input, it calls the wrapper's Read, which may wait for
// more than there is. The caller asks for the rest of what it has begun to read, so that has to come.
func (w *wrapped) TryReadInto(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case w.n > 0:
		return w.take(p), nil
	case w.err == nil && HasInput(w.rc):
		return w.through(p)
	}
	return 0, w.fault()
}

// Read implements net.Conn. It returns n > 0 or an error.
func (w *wrapped) Read(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case w.n > 0:
		return w.take(p), nil
	case w.err != nil:
		return 0, w.fault()
	}
	return w.through(p)
}

// take moves what WaitInRead has read to p.
func (w *wrapped) take(p []byte) int {
	n := copy(p, (*w.buf)[w.r:w.n])
	if w.r += n; w.r == w.n {
		w.pool.Put(w.buf)
		w.buf, w.pool, w.r, w.n = nil, nil, 0, 0
	}
	return n
}

// fault returns the error with which Read has ended, or ErrWouldBlock if there is none. It returns the
// error of a deadline once.
func (w *wrapped) fault() error {
	err := w.err
	switch {
	case err == nil:
		return ErrWouldBlock
	case isTimeout(err):
		w.err = nil
	}
	return err
}

// through reads through the wrapper: n > 0, or an error.
func (w *wrapped) through(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, io.ErrShortBuffer
	}
	if n, err = readThrough(w.conn, p); n == 0 {
		return 0, err
	}
	if !isTimeout(err) {
		w.err = err
	}
	return n, nil
}

// readThrough reads from a wrapper: there are bytes, or an error, or both.
func readThrough(conn net.Conn, p []byte) (n int, err error) {
	for range emptyReads {
		if n, err = conn.Read(p); n > 0 || err != nil {
			return max(n, 0), err
		}
	}
	return 0, io.ErrNoProgress
}

// Write implements Layer.
func (w *wrapped) Write(p []byte) (int, error) { return w.out.Write(p) }

// TryWrite implements Layer. It takes nothing if the wrapper has a Write of its own: it is not known what
// that does, so it needs a goroutine that may wait.
func (w *wrapped) TryWrite(p []byte) (int, error) { return w.out.TryWrite(p) }
