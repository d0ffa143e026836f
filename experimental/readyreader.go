// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"net"

	"google.golang.org/grpc/mem"
)

// ReadyReader is a [net.Conn], made by a listener, a dialer or credentials, that can wait
// for input without a buffer. Servers and channels then read through ReadOnReady, and an
// idle connection holds no buffer. Most connections need not implement it:
//
//   - TCP and unix sockets are waited for without a buffer and without a goroutine, and
//     so are wrappers that embed one and declare neither Read nor Write;
//   - so are those that only count, on every system, if they are a [ReadCounter] and a
//     [WriteCounter] and what is below is a socket; they are as fast as that;
//   - so are those around a socket that change what they read, or hold some of it, if they are a [TryReader];
//   - other wrappers around a socket, with a Read of their own, are waited for in that Read, by a goroutine
//     with a buffer of 256 bytes while they are idle;
//   - package experimental/footprint tells which connections don't park, and why.
//
// A wrapper that embeds a ReadyReader and declares Read is not read through the embedded
// ReadOnReady.
type ReadyReader interface {
	// ReadOnReady waits until there is input, takes a buffer of size bytes from pool,
	// reads once, and returns the buffer, whose first n > 0 bytes are the input. The
	// caller puts it back into pool. Where there is nothing to return, buf is nil and
	// nothing is taken from pool.
	//
	// Bytes may come together with an error: they are used first, then the error
	// ends the connection. The end of the stream is io.EOF.
	//
	// It is called by one goroutine at a time. The connection's read deadline and
	// Close end the wait, and after a deadline it can be called again: the error then
	// is or wraps os.ErrDeadlineExceeded.
	ReadOnReady(size int, pool mem.BufferPool) (buf *[]byte, n int, err error)
}

// Reading is a wrapper whose Read is that of another connection, which it does not embed,
// or whose Read does something that is of no effect on the bytes and may be left out.
// Servers and channels then read that connection instead, without a goroutine while it is
// idle if it is a socket. Close, deadlines and addresses stay the wrapper's. A wrapper that
// embeds a Reading and declares Read is not passed by.
type Reading interface {
	// ReadsOf returns the connection, always the same one, or nil if there is none.
	ReadsOf() net.Conn
}

// Writing is the same for Write.
type Writing interface {
	// WritesOf returns the connection, always the same one, or nil if there is none.
	WritesOf() net.Conn
}

// ReadCounter is a [Reading] that counts: one with a Read of its own, which calls that of the other
// connection and notes how many bytes it returned. Where that connection is a socket, or leaves
// its reads to one, the socket is read in its place, and what was read is told to CountRead.
// Read is called all the same for some of the bytes, as in handshakes and for long messages, and
// has to count them itself. So each byte is counted once, by one of the two.
//
// CountRead has to be a method of the type that ReadsOf is a method of. It counts for that type
// alone: a counter below is told itself.
type ReadCounter interface {
	Reading
	// CountRead follows a read of n > 0 bytes. It is called by one goroutine at a time, as
	// Read is, possibly while CountWritten is called by another. It must not block, and not call
	// the connection.
	CountRead(n int)
}

// WriteCounter is the same for Write. What a Write of a wrapper's own does nobody knows: it may
// sleep, so it is called by a goroutine that has nothing else to do. WriteCounter says that
// it does not.
type WriteCounter interface {
	Writing
	// CountWritten follows a write of n > 0 bytes, which may be a part of what was to be
	// written. It is called by one goroutine at a time. It must not block, and not call the
	// connection.
	CountWritten(n int)
}
