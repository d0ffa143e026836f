// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"sync/atomic"
	"time"
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

// Explainer is a connection that knows why it can't be waited for without a goroutine. Of a
// wrapper that may turn out while it is read.
type Explainer interface {
	// WhyNot returns "" if it can be, as far as is known. It may be called at any time.
	WhyNot() string
}

// Hesitant is a connection whose TryRead, against its word, may wait for the rest of what it
// has begun to read. What others wait for is to be done before.
type Hesitant interface{ MayWait() bool }

// WaitingWriter is a Writer whose TryWrite may be one that never takes anything, because
// nobody knows what a write does.
type WaitingWriter interface{ WriteWaits() bool }

// WriteWaits reports whether only Write of w writes: see WaitingWriter.
func WriteWaits(w Writer) bool {
	x, ok := w.(WaitingWriter)
	return ok && x.WriteWaits()
}

// Detector is a connection of which it may turn out, while it is read, that it can't be
// waited for without a goroutine.
type Detector interface {
	// Detect has told called, on a goroutine of its own, when that has turned out, or when a
	// connection that was left alone (see Rester) has to be waited for to find out. It comes
	// before the connection is read.
	Detect(told func())
}

// Rester is a Detector that may know, before it waits, that it need not be waited for.
type Rester interface {
	// Rest has ReadOnReady and Read return ErrWouldBlock then, for the reader to see whether it
	// can leave the connection alone; the read is to be repeated otherwise. It comes before the
	// connection is read.
	Rest()
}

// BlindReader is a connection that keeps an account of what is read. Before it is read in
// other ways, as in a handshake, whose deadlines are set beside it, it is read blind.
type BlindReader interface {
	// ReadBlind is what Read of a connection is, and does nothing but count.
	ReadBlind(p []byte) (int, error)
}

// Interrupter is a connection whose reads are not to be ended by deadlines as they come.
type Interrupter interface {
	// Interrupt takes the reader out of its wait, the next one if it is not in one, with
	// os.ErrDeadlineExceeded, and sets flag before; or it does nothing.
	Interrupt(flag *atomic.Bool)
	SetReadDeadline(time.Time) error
}
