// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"sync/atomic"

	"google.golang.org/grpc/mem"
)

// What a connection may be able to do beside. Who uses it asks for it with a type
// assertion, and does without where there is none.

// VectorWriter is a Writer that takes many pieces in one call of the system. Pieces may be
// empty. The list is not the caller's any more, and is not kept.
type VectorWriter interface {
	// LeastPiece is from how many bytes on it pays to give a piece as one of its own. To copy a
	// shorter one to the end of another takes less time.
	LeastPiece() int
	// TryWriteVector is TryWrite of all pieces, one after the other.
	TryWriteVector(pieces [][]byte) (n int, err error)
	// WriteVector is Write of them.
	WriteVector(pieces [][]byte) (n int, err error)
}

// HalfCloser is a connection whose writing side can be closed alone.
type HalfCloser interface{ CloseWrite() error }

// IdleReleaser is a connection with a layer of its own that can let go of memory which it
// does not need while nothing arrives. The reader calls it.
type IdleReleaser interface{ ReleaseIdle() }

// Drainer is a connection with a layer of its own that knows when it needs more from the
// socket, and can be left alone then, without another look, until the socket has input.
type Drainer interface {
	// Drained reports whether all that was taken from the socket was used up, and no error
	// is to be told yet. It is for the reader.
	Drained() bool
}

// Holder is a connection with a layer that may hold on to bytes.
type Holder interface {
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

// Explainer is a connection that knows why it can't be waited for without a goroutine.
type Explainer interface {
	// WhyNot returns "" if it can be. It may be called at any time.
	WhyNot() string
}

// Rester is a connection that may have to be waited for in its Read, by a goroutine and with a buffer. It
// has that done apart from reading, so that who waits need not have in hand what reading takes.
type Rester interface {
	// Rests reports whether the connection has to be waited for in its Read: always the same.
	Rests() bool
	// Rest waits until there is input, the end of it or an error, unless there is some: what it meets is for the
	// next read. idle says that nothing is expected soon, so that the buffer may be a small one. The
	// buffer is from pool, as those of the reads that follow are. It is for the reader, after a TryRead that
	// returned ErrWouldBlock. Deadlines and Close end it as they do a read.
	Rest(idle bool, pool mem.BufferPool)
}

// Rests reports whether what NewWriter returned has to be waited for by Rest.
func Rests(w any) bool {
	r, ok := w.(Rester)
	return ok && r.Rests()
}

// WaitingWriter is a Writer whose TryWrite may be one that never takes anything, because
// nobody knows what a write does.
type WaitingWriter interface{ WriteWaits() bool }

// WriteWaits reports whether only Write of w writes: see WaitingWriter.
func WriteWaits(w Writer) bool {
	x, ok := w.(WaitingWriter)
	return ok && x.WriteWaits()
}
