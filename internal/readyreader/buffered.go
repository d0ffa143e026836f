// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"io"
)

// ErrTooLarge is returned by a Peek for more bytes than the buffer's size.
var ErrTooLarge = errors.New("readyreader: peek exceeds the buffer size")

// Buffered is the read side of a connection as a frame loop sees it. It is used
// by one goroutine at a time. Errors are those of the connection, they don't
// stick, and no byte is lost by one: after a deadline the call can be repeated.
type Buffered interface {
	// Peek waits until n bytes are buffered and returns exactly these. The
	// slice is valid until the next call of any other method or of Peek: in
	// particular, use the bytes before discarding them. If the stream ends
	// first, the error is io.EOF when no byte is buffered and
	// io.ErrUnexpectedEOF when some are. More than the buffer's size is
	// ErrTooLarge, at once.
	Peek(n int) ([]byte, error)

	// TryPeek is Peek without the wait: ErrWouldBlock if n bytes can't be had
	// right now, as is always so of a connection that can't be read without waiting.
	// Then no pooled buffer is held, except, if more than 64 bytes
	// are waiting for the rest of their frame, one of about their length.
	TryPeek(n int) ([]byte, error)

	// Discard drops n bytes, waiting for them if they are not buffered yet.
	// It returns how many it dropped, which is n unless there is an error.
	Discard(n int) (int, error)

	// Buffered is the number of bytes that can be had without reading.
	Buffered() int

	// Read reads into p like io.Reader: buffered bytes if there are any, else
	// it waits. A read at least as large as the buffer bypasses it. No
	// reference to p is kept.
	Read(p []byte) (int, error)

	// Release gives up the buffer and drops what is in it. It is for the end
	// of the connection, and is called by whoever reads, not beside a read.
	Release()
}

// endOfStream is what a Peek that needs more reports when the stream ended.
func endOfStream(err error, buffered int) error {
	if err == io.EOF && buffered > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
