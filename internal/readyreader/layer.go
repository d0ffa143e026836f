// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/mem"
)

// Ability is a set of what a Layer can do.
type Ability uint8

const (
	// ReadsReady: ReadOnReady waits for input without a buffer.
	ReadsReady Ability = 1 << iota
	// TriesReads: TryRead and TryReadInto read without waiting, and RawConn is the socket below.
	TriesReads
	// WaitsInRead: a goroutine that waits for input has to call WaitInRead; waiting for the socket is not
	// enough.
	WaitsInRead
	// TriesWrites: TryWrite writes without waiting. Without this ability every write needs a goroutine that
	// may wait, because it is not known what the connection's Write does.
	TriesWrites
	// TakesVectors: TryWriteVector and WriteVector take many pieces in one call.
	TakesVectors
	// HoldsBytes: the Layer may hold a part of a record, as TLS does.
	HoldsBytes
	// OnSocket: the Layer reads a socket, or a wrapper around one, writes the same or a wrapper around it, and
	// has written all that it took.
	OnSocket
	// EndsReads: a read deadline that is set on the connection ends what its reads wait for. That depends on the
	// wrappers above a Layer, so Can does not tell it: see DeadlinesEndReads.
	EndsReads
)

// Has reports whether all of some are in a.
func (a Ability) Has(some Ability) bool { return a&some == some }

// HasAny reports whether any of some is in a.
func (a Ability) HasAny(some Ability) bool { return a&some != 0 }

// Layer is a connection as this package reads and writes it. A connection with a protocol of its own (TLS,
// ALTS) implements it. Can says what a Layer can do; it gets the methods for what it can't do from
// [BaseLayer]. Callers ask Can, and never what type a Layer is.
//
// One goroutine reads at a time, and one writes, whichever methods they use.
type Layer interface {
	// Can returns what the Layer can do, always the same.
	Can() Ability

	// Read reads as net.Conn's does, and Write writes all of p, or returns an error.
	io.ReadWriter

	// ReadOnReady waits until the connection has input, takes a buffer of
	// bufSize bytes from pool, reads once, and hands the buffer over: its first
	// n bytes (n > 0) are the input, and the caller puts it back into pool.
	// With an error buf is nil, n is 0 and nothing is taken from pool. The end
	// of the stream is io.EOF.
	//
	// A read deadline and Close end the wait, as they do for net.Conn's Read; after a deadline the caller
	// can repeat the call and no input is lost. Whether a deadline that has passed also ends a read that
	// need not wait depends on the system: it does on Unix and does not on Windows.
	ReadOnReady(bufSize int, pool mem.BufferPool) (buf *[]byte, n int, err error)
	// TryRead is ReadOnReady without the wait: with no input it returns
	// ErrWouldBlock. A layered connection may hold bytes that it has read from
	// the socket. It returns ErrWouldBlock only when these yield no plaintext
	// either, so that waiting for the socket is safe.
	TryRead(bufSize int, pool mem.BufferPool) (buf *[]byte, n int, err error)
	// TryReadInto reads at most len(p) bytes into p without waiting and keeps
	// no reference to p. It returns n > 0, or an error; with no input, or if it can't,
	// ErrWouldBlock. An empty p yields 0, nil. It saves a copy where a frame is split
	// between two reads.
	TryReadInto(p []byte) (n int, err error)
	// RawConn returns the socket below. The caller may only wait for its readiness: the bytes in it may be
	// ciphertext.
	RawConn() syscall.RawConn
	// WaitInRead waits until there is input, the end of input, or an error. It returns at once if it has
	// one of them already. The next read returns what WaitInRead finds. idle says that nothing is expected
	// soon, so that the buffer may be a small one. The buffer comes from pool; the reads that follow must
	// use the same pool. Only the reader calls WaitInRead, after a TryRead that returned ErrWouldBlock.
	// Deadlines and Close end it as they end a read.
	WaitInRead(idle bool, pool mem.BufferPool)
	// Drained reports whether everything that the other side has sent and no read has returned yet is in
	// the socket, where a goroutine that waits for the socket finds it. Only the reader calls it.
	Drained() bool
	// ReleaseIdle frees memory that is not needed while nothing arrives. Only the reader calls it.
	ReleaseIdle()
	// WhyNot returns why the connection can't be waited for without a goroutine, if the Layer knows a
	// better reason than its abilities tell; otherwise it returns "". It may be called at any time.
	WhyNot() string

	// TryWrite writes as much of p as it can without waiting. The error is nil
	// exactly when all of p is with the system. It is ErrWouldBlock when only
	// the first n bytes (possibly none) were taken; the rest can follow later
	// by any method. No reference to p is kept.
	//
	// A layered connection may take bytes and still hold them, encrypted; n may then be len(p) even though
	// the error is ErrWouldBlock. So after ErrWouldBlock the caller always has to write again, if only an
	// empty slice: Write returns only when all that was taken before is written too.
	TryWrite(p []byte) (n int, err error)
	// TryWriteVector does what TryWrite does for all pieces, one after the other, and WriteVector does what
	// Write does. Pieces may be empty. The method may change the list, which the caller must not use again,
	// and keeps no reference to it.
	TryWriteVector(pieces [][]byte) (n int, err error)
	WriteVector(pieces [][]byte) (n int, err error)
	// LeastPiece returns the length in bytes from which it pays to pass a piece on its own. To copy a
	// shorter one to the end of another takes less time.
	LeastPiece() int

	// Held returns the memory, in bytes, of input that was read and can't be used yet, and of output that
	// was taken and is not written yet.
	Held() int
	// Retained returns the memory, in bytes, that the layer keeps while it waits for input: usually part of
	// a record. It may be called at any time, and costs no more than a load.
	Retained() int
	// CountIn makes the layer add what it retains to sum, until the connection is closed. It may be called
	// once, before the connection is read.
	CountIn(sum *atomic.Int64)
}

// BaseLayer has the methods that a Layer needs besides Read and Write, for one that can do nothing else.
// Other types embed it.
type BaseLayer struct{}

// pieceAlone is LeastPiece of a Layer that makes a system call for each piece.
const pieceAlone = 64 << 10

// Can implements Layer; so do all below.
func (BaseLayer) Can() Ability { return 0 }

// ReadOnReady fails.
func (BaseLayer) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error) {
	return nil, 0, errors.ErrUnsupported
}

// TryRead reads nothing.
func (BaseLayer) TryRead(int, mem.BufferPool) (*[]byte, int, error) { return nil, 0, ErrWouldBlock }

// TryReadInto reads nothing.
func (BaseLayer) TryReadInto(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, ErrWouldBlock
}

// RawConn returns nil.
func (BaseLayer) RawConn() syscall.RawConn { return nil }

// WaitInRead does not wait.
func (BaseLayer) WaitInRead(bool, mem.BufferPool) {}

// Drained returns false.
func (BaseLayer) Drained() bool { return false }

// ReleaseIdle has nothing to release.
func (BaseLayer) ReleaseIdle() {}

// WhyNot returns "".
func (BaseLayer) WhyNot() string { return "" }

// TryWrite takes nothing.
func (BaseLayer) TryWrite([]byte) (int, error) { return 0, ErrWouldBlock }

// TryWriteVector takes nothing.
func (BaseLayer) TryWriteVector([][]byte) (int, error) { return 0, ErrWouldBlock }

// WriteVector fails.
func (BaseLayer) WriteVector([][]byte) (int, error) { return 0, errors.ErrUnsupported }

// LeastPiece is for a Layer that writes each piece in a call of its own.
func (BaseLayer) LeastPiece() int { return pieceAlone }

// Held returns 0.
func (BaseLayer) Held() int { return 0 }

// Retained returns 0.
func (BaseLayer) Retained() int { return 0 }

// CountIn has nothing to count.
func (BaseLayer) CountIn(*atomic.Int64) {}

// plainConn is a connection about which nothing is known. Its Read may return bytes together with an error, which
// the connection need not return again: plainConn returns it with the next read.
type plainConn struct {
	BaseLayer
	net.Conn
	late error // that the next read returns. Owned by the reader.
}

// Read implements Layer.
func (c *plainConn) Read(p []byte) (int, error) {
	if c.late != nil {
		return 0, c.late
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.keep(err)
		err = nil
	}
	return n, err
}

// keep stores an error that came with bytes, unless the next read reports it again.
func (c *plainConn) keep(err error) {
	if err != nil && !Again(err) && !errors.Is(err, ErrWouldBlock) {
		c.late = err
	}
}

// readyConn is a program's connection, with a ReadOnReady of its own. That may return bytes together with an
// error, too, and so may TryRead.
type readyConn struct {
	plainConn
	waiter readyWaiter
}

// readyWaiter is ReadyReader of package experimental.
type readyWaiter interface {
	ReadOnReady(size int, pool mem.BufferPool) (buf *[]byte, n int, err error)
}

// Can implements Layer.
func (r *readyConn) Can() Ability { return ReadsReady }

// ReadOnReady implements Layer.
func (r *readyConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return r.readBy(r.waiter.ReadOnReady, size, pool)
}

// readBy reads by one of the program's methods, and keeps a Layer's contract where the method doesn't.
func (r *readyConn) readBy(read readFunc, size int, pool mem.BufferPool) (*[]byte, int, error) {
	if r.late != nil {
		return nil, 0, r.late
	}
	buf, n, err := read(size, pool)
	if buf == nil || n <= 0 {
		if buf != nil {
			pool.Put(buf)
		}
		if err == nil {
			err = io.ErrNoProgress // a caller that read again might do so forever
		}
		return nil, 0, err
	}
	r.keep(err)
	return buf, n, nil
}

// tryConn is a readyConn that can be read without waiting, too.
type tryConn struct {
	readyConn
	tries tryReader
	rc    syscall.RawConn
}

// tryReader is TryReader of package experimental.
type tryReader interface {
	readyWaiter
	TryRead(size int, pool mem.BufferPool) (buf *[]byte, n int, err error)
	RawConn() syscall.RawConn
}

// Can implements Layer; so do all below.
func (t *tryConn) Can() Ability { return ReadsReady | TriesReads }

func (t *tryConn) RawConn() syscall.RawConn { return t.rc }

func (t *tryConn) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf, n, err := t.readBy(t.tries.TryRead, size, pool)
	if n == 0 && errors.Is(err, ErrWouldBlock) {
		err = ErrWouldBlock // callers compare the error, and it may have been wrapped
	}
	return buf, n, err
}

// splitConn is a connection that reads through one Layer and writes through another.
type splitConn struct {
	Layer        // is read
	writes Layer // is written
}

const (
	readAbilities  = ReadsReady | TriesReads | WaitsInRead | HoldsBytes
	writeAbilities = TriesWrites | TakesVectors
)

// Can implements Layer; so do all below.
func (s *splitConn) Can() Ability {
	reads, writes := s.Layer.Can(), s.writes.Can()
	can := reads&readAbilities | writes&writeAbilities
	if !writes.Has(HoldsBytes) {
		can |= reads & OnSocket // only reads are waited for
	}
	return can
}

// Drained returns false, so that callers look for input themselves.
func (s *splitConn) Drained() bool { return false }

func (s *splitConn) Write(p []byte) (int, error)            { return s.writes.Write(p) }
func (s *splitConn) TryWrite(p []byte) (int, error)         { return s.writes.TryWrite(p) }
func (s *splitConn) WriteVector(v [][]byte) (int, error)    { return s.writes.WriteVector(v) }
func (s *splitConn) TryWriteVector(v [][]byte) (int, error) { return s.writes.TryWriteVector(v) }
func (s *splitConn) LeastPiece() int                        { return s.writes.LeastPiece() }
