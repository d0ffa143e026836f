// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// Reader is a connection that can wait for input without holding a buffer.
type Reader interface {
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
}

// TryReader is a Reader that can say at once that there is nothing to read.
type TryReader interface {
	Reader

	// TryRead is ReadOnReady without the wait: with no input it returns
	// ErrWouldBlock. A layered connection returns it only when all it holds
	// yields no plaintext either, so that waiting for the socket is safe.
	TryRead(bufSize int, pool mem.BufferPool) (buf *[]byte, n int, err error)

	// RawConn is the socket below, to wait for its readiness and for nothing
	// else: the bytes in it may be ciphertext.
	RawConn() syscall.RawConn
}

// InPlaceReader is a connection that can read into memory that the caller
// already holds. It saves a copy where a frame is split between two reads.
type InPlaceReader interface {
	// TryReadInto reads at most len(p) bytes into p without waiting and keeps
	// no reference to p. It returns n > 0, or an error; with no input,
	// ErrWouldBlock. An empty p yields 0, nil.
	TryReadInto(p []byte) (n int, err error)
}

// Writer is a connection that can be written to without waiting. One goroutine
// writes at a time, whichever method it uses.
type Writer interface {
	// Write writes all of p or returns an error, waiting as net.Conn's does.
	Write(p []byte) (n int, err error)

	// TryWrite writes as much of p as it can without waiting. The error is nil
	// exactly when all of p is with the system. It is ErrWouldBlock when only
	// the first n bytes (possibly none) were taken; the rest can follow later
	// by either method. No reference to p is kept.
	//
	// A layered connection may take bytes and still hold them, encrypted; n may
	// then even be len(p), beside ErrWouldBlock. So ErrWouldBlock always calls
	// for another write, be it an empty one: Write returns only when what was
	// taken before is written too.
	TryWrite(p []byte) (n int, err error)
}

// ErrWouldBlock says that the operation can't proceed without waiting. It is a
// net.Error that is temporary and not a timeout: crypto/tls leaves a connection
// usable after a Read that failed with such an error, and with no other.
var ErrWouldBlock net.Error = wouldBlock{}

type wouldBlock struct{}

func (wouldBlock) Error() string   { return "readyreader: operation would block" }
func (wouldBlock) Timeout() bool   { return false }
func (wouldBlock) Temporary() bool { return true }
