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
	// WaitsInRead: who waits for input has to call WaitInRead, on a goroutine; to wait for the socket
	// is not enough.
	WaitsInRead
	// TriesWrites: TryWrite writes without waiting. A Layer that can't leaves every write to who may wait,
	// because nobody knows what a Write of it does.
	TriesWrites
	// TakesVectors: TryWriteVector and WriteVector take many pieces in one call.
	TakesVectors
	// HoldsBytes: it may hold a part of a record, as TLS does.
	HoldsBytes
	// OnSocket: it reads and writes a socket, or a wrapper around one, and keeps nothing that it took.
	OnSocket
)

// Has reports whether all of some are in a.
func (a Ability) Has(some Ability) bool { return a&some == some }

// HasAny reports whether any of some is in a.
func (a Ability) HasAny(some Ability) bool { return a&some != 0 }

// Layer is a connection as this package reads and writes it, and as a connection of a layer of its own (TLS,
// ALTS) offers itself to be read and written. What it can do, Can says; the other methods it has from
// [BaseLayer]. Whoever uses it asks Can, and never what type it is.
//
// One goroutine reads at a time, and one writes, whichever methods they use.
type Layer interface {
	// Can is always the same.
	Can() Ability

	// Read reads as net.Conn's does, and Write writes all of p, or returns an error.
	io.ReadWriter

	// ReadOnReady waits until the connection has input, takes a buffer of
	// bufSize bytes from pool, reads once, and hands the buffer over: its first
	// n bytes (n > 0) are the input, and the caller puts it back into pool.
	// With an error buf is nil, n is 0 and nothing is taken from pool. The end
	// of the stream is io.EOF.
	//
	// A read deadline and Close end the wait, as they do for net.Conn's Read;
	// after a deadline the call can be repeated and no input is lost. Whether a
	// deadline that has passed also ends what needs no wait is the system's: it does
	// on Unix and does not on Windows.
	ReadOnReady(bufSize int, pool mem.BufferPool) (buf *[]byte, n int, err error)
	// TryRead is ReadOnReady without the wait: with no input it returns
	// ErrWouldBlock. A layered connection returns it only when all it holds
	// yields no plaintext either, so that waiting for the socket is safe.
	TryRead(bufSize int, pool mem.BufferPool) (buf *[]byte, n int, err error)
	// TryReadInto reads at most len(p) bytes into p without waiting and keeps
	// no reference to p. It returns n > 0, or an error; with no input, or if it can't,
	// ErrWouldBlock. An empty p yields 0, nil. It saves a copy where a frame is split
	// between two reads.
	TryReadInto(p []byte) (n int, err error)
	// RawConn is the socket below, to wait for its readiness and for nothing
	// else: the bytes in it may be ciphertext.
	RawConn() syscall.RawConn
	// WaitInRead waits until there is input, the end of it or an error, unless there is some: what it meets is
	// for the next read. idle says that nothing is expected soon, so that the buffer may be a small one. The
	// buffer is from pool, as those of the reads that follow are. It is for the reader, after a TryRead that
	// returned ErrWouldBlock. Deadlines and Close end it as they do a read.
	WaitInRead(idle bool, pool mem.BufferPool)
	// Drained reports whether all that the other side has sent and was not returned yet is in the socket, where
	// who waits for that finds it. It is for the reader.
	Drained() bool
	// ReleaseIdle lets go of memory that is not needed while nothing arrives. It is for the reader.
	ReleaseIdle()
	// WhyNot says why the connection can't be waited for without a goroutine, if the Layer knows better than
	// its abilities tell; else "". It may be called at any time.
	WhyNot() string

	// TryWrite writes as much of p as it can without waiting. The error is nil
	// exactly when all of p is with the system. It is ErrWouldBlock when only
	// the first n bytes (possibly none) were taken; the rest can follow later
	// by any method. No reference to p is kept.
	//
	// A layered connection may take bytes and still hold them, encrypted; n may
	// then even be len(p), beside ErrWouldBlock. So ErrWouldBlock always calls
	// for another write, be it an empty one: Write returns only when what was
	// taken before is written too.
	TryWrite(p []byte) (n int, err error)
	// TryWriteVector is TryWrite of all pieces, one after the other, and WriteVector Write of them. Pieces
	// may be empty. The list is not the caller's any more, and is not kept.
	TryWriteVector(pieces [][]byte) (n int, err error)
	WriteVector(pieces [][]byte) (n int, err error)
	// LeastPiece is from how many bytes on it pays to give a piece as one of its own. To copy a
	// shorter one to the end of another takes less time.
	LeastPiece() int

	// Held is the memory, in bytes, of what was read and can't be used yet, and of what
	// was taken and is not written yet.
	Held() int
	// Retained is the memory, in bytes, that the layer holds on to while it waits for
	// input: as a rule a part of a record. It may be called at any time, and costs no more
	// than a load.
	Retained() int
	// CountIn has what is retained counted in sum, until the connection is closed. It is
	// called once at most, before the connection is read.
	CountIn(sum *atomic.Int64)
}

// BaseLayer has the methods of a Layer that can do nothing but Read and Write, for others to embed.
type BaseLayer struct{}

// pieceAlone is the least piece where each one needs a call of the system.
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

// LeastPiece is that of a Layer to which each piece is written alone.
func (BaseLayer) LeastPiece() int { return pieceAlone }

// Held returns 0.
func (BaseLayer) Held() int { return 0 }

// Retained returns 0.
func (BaseLayer) Retained() int { return 0 }

// CountIn has nothing to count.
func (BaseLayer) CountIn(*atomic.Int64) {}

// plainConn is a connection of which nothing is known.
type plainConn struct {
	BaseLayer
	net.Conn
}

// readyConn is a connection of a program's that waits in a ReadOnReady of its own.
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
	return r.waiter.ReadOnReady(size, pool)
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
	buf, n, err := t.tries.TryRead(size, pool)
	if n == 0 && errors.Is(err, ErrWouldBlock) {
		err = ErrWouldBlock // it may have been wrapped, and is compared
	}
	return buf, n, err
}

// splitConn is a connection that is read as one Layer is, and written as another one is.
type splitConn struct {
	Layer        // is read
	writes Layer // is written
}

const (
	readAbilities  = ReadsReady | TriesReads | WaitsInRead | HoldsBytes
	writeAbilities = TriesWrites | TakesVectors
)

// Can implements Layer; so do all below.
func (s *splitConn) Can() Ability { return s.Layer.Can()&readAbilities | s.writes.Can()&writeAbilities }

// Drained returns false, so that a look at the connection decides.
func (s *splitConn) Drained() bool { return false }

func (s *splitConn) Write(p []byte) (int, error)            { return s.writes.Write(p) }
func (s *splitConn) TryWrite(p []byte) (int, error)         { return s.writes.TryWrite(p) }
func (s *splitConn) WriteVector(v [][]byte) (int, error)    { return s.writes.WriteVector(v) }
func (s *splitConn) TryWriteVector(v [][]byte) (int, error) { return s.writes.TryWriteVector(v) }
func (s *splitConn) LeastPiece() int                        { return s.writes.LeastPiece() }
