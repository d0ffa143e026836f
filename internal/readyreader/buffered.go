// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"errors"
	"io"
)

// errTooLarge is returned by a Peek for more bytes than the buffer's size.
var errTooLarge = errors.New("readyreader: peek exceeds the buffer size")

// Buffered is the read side of a connection as a frame loop sees it. Only one goroutine may use it at a
// time. Its errors are those of the connection. No byte is lost by an error: after a deadline the caller
// can repeat the call.
type Buffered interface {
	// Peek waits until n bytes are buffered and returns exactly these. The slice is valid until the next
	// call of any method: in particular, the caller must use the bytes before it discards them. If the
	// stream ends first, the error is io.EOF when no byte is buffered and io.ErrUnexpectedEOF when some
	// are. If n is more than the buffer's size, Peek fails at once.
	Peek(n int) ([]byte, error)

	// TryPeek is Peek without the wait: it returns ErrWouldBlock if n bytes can't be had right now. On a
	// connection that can't be read without waiting, only bytes that are buffered already can be had. After
	// ErrWouldBlock no pooled buffer is held, with one exception: if more than 64 bytes are waiting for the
	// rest of their frame, a buffer of about their length holds them.
	TryPeek(n int) ([]byte, error)

	// Discard drops n bytes, waiting for them if they are not buffered yet.
	// It returns how many it dropped, which is n unless there is an error.
	Discard(n int) (int, error)

	// Buffered returns the number of bytes that can be had without reading from the connection.
	Buffered() int

	// Read reads into p like io.Reader: buffered bytes if there are any, else
	// it waits. A read at least as large as the buffer bypasses it. No
	// reference to p is kept.
	Read(p []byte) (int, error)

	// Release gives up the buffer and drops what is in it. It is for the end of the connection. The
	// goroutine that reads calls it, never during a read.
	Release()
}

// endOfStream returns the error of a Peek that wants more than the buffered bytes, after a read has
// returned err.
func endOfStream(err error, buffered int) error {
	if err == io.EOF && buffered > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
