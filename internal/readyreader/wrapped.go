// SPDX-License-Identifier: Apache-2.0

//go:build unix || (windows && !race)

package readyreader

import (
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// wrapped reads a wrapper whose Read is its own: one that counts, replays what it sniffed, skips a
// header. Who waits for input waits in that Read, always, as with any net.Conn: nothing is done to
// the wrapper or to its socket that either could notice, and nothing has to be known of it.
//
// To wait for the socket instead would be wrong for a wrapper that holds bytes, that has a goroutine
// which reads ahead, or that sets a read deadline, if only while its Read runs. The first can be told
// by what the kernel counts. The others can't be told from outside without a deadline of ours, and a
// deadline may end a Read of a wrapper that fails for good after that. So a wrapper that is to be
// waited for without a goroutine has to say what it does (see embed.go), or to be known (see known.go).
//
// What such a wait costs is little all the same: see [Layer]. What it brings is kept here for the
// next read.
type wrapped struct {
	BaseLayer
	conn net.Conn // the wrapper
	rc   syscall.RawConn
	out  Layer // is written

	// Owned by the reader. The bytes that WaitInRead has read are (*buf)[r:n].
	buf  *[]byte
	pool mem.BufferPool // buf's
	r, n int
	err  error // what follows them
	room int   // how much WaitInRead reads at once
}

const (
	// idleRoom is how much is read at first of a connection that was left alone: there is a buffer
	// while the Read waits.
	idleRoom = 256
	// leastRoom and mostRoom bound that of a busy one.
	leastRoom = 512
	mostRoom  = 16 << 10
	// emptyReads is how often in a row a wrapper may return nothing at all.
	emptyReads = 100
)

// newWrapped returns nil if there is no socket below conn.
func newWrapped(conn net.Conn, out Layer) Layer {
	sock := SocketBelow(conn)
	if sock == nil {
		sock = conn // it may still show its descriptor
	}
	rc := rawConnOf(sock)
	if rc == nil {
		return nil
	}
	return &wrapped{conn: conn, rc: rc, out: out, room: leastRoom}
}

// Can implements Layer.
func (w *wrapped) Can() Ability {
	return TriesReads | WaitsInRead | OnSocket | w.out.Can()&TriesWrites
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
	buf := pool.Get(size)
	n, err := w.through(window(buf, size))
	if n == 0 {
		pool.Put(buf)
		w.err = err
		return
	}
	w.buf, w.pool, w.r, w.n = buf, pool, 0, n
	if !idle {
		w.adapt(n)
	}
}

// adapt makes room for as much as comes.
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

// ReadOnReady implements Layer. It waits with a buffer.
func (w *wrapped) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if w.n > 0 || w.err != nil {
		return w.TryRead(size, pool)
	}
	buf := pool.Get(size)
	n, err := w.through(window(buf, size))
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, err
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

// TryReadInto implements Layer. Where the socket has input it reads the wrapper, which may want
// more than there is: it is for the rest of what the caller has begun to read, which has to come.
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

// Read implements net.Conn, but that there is an error or n > 0.
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

// fault returns the error that Read has ended with, or that there is nothing yet. That of a deadline is
// told once.
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

// TryWrite implements Layer. What a Write of the wrapper's own does nobody knows, so it
// is left to who may wait.
func (w *wrapped) TryWrite(p []byte) (int, error) { return w.out.TryWrite(p) }
