// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"net"

	"google.golang.org/grpc/mem"
)

// ReadyReader is a [net.Conn], made by a listener, a dialer or credentials, that can wait for input
// without a buffer. Servers and channels then read through ReadOnReady, and an idle connection holds no
// buffer. Most connections need not implement it:
//
//   - An idle TCP or unix socket needs neither a buffer nor a goroutine, and neither does a wrapper that
//     embeds one and declares no Read, whatever its Write does.
//   - The same holds, on every system, for a wrapper around a socket that only counts what it reads, if it is
//     a [ReadCounter], whatever its Write does, also with TLS or ALTS over it. If it only counts what it
//     writes, too, and is a [WriteCounter], it is as fast as the socket.
//   - The same holds for a wrapper around a socket that changes what it reads, or holds some of it, if it
//     is a [TryReader].
//   - Any other wrapper around a socket that has a Read of its own, or is of a generic type, has, while it is idle, a goroutine that
//     waits in that Read, with a buffer of 256 bytes.
//   - Package experimental/footprint tells which connections don't park, and why.
//
// If a wrapper embeds a ReadyReader and declares Read, the embedded ReadOnReady is not used.
type ReadyReader interface {
	// ReadOnReady waits until there is input, takes a buffer of size bytes from pool, reads once,
	// and returns the buffer, whose first n > 0 bytes are the input. The caller puts it back into
	// pool. If there is nothing to return, buf is nil and nothing is taken from pool.
	//
	// Bytes may come together with an error: the caller uses the bytes first, and then the error
	// ends the connection. The end of the stream is io.EOF.
	//
	// One goroutine at a time calls it. The connection's read deadline and Close end the wait.
	// After a deadline it can be called again: the error then is or wraps os.ErrDeadlineExceeded.
	ReadOnReady(size int, pool mem.BufferPool) (buf *[]byte, n int, err error)
}

// Reading is a wrapper whose Read is that of another connection, which it does not embed, or
// whose Read adds something that does not affect the bytes and may be left out. Servers and
// channels then read that connection instead, without a goroutine while it is idle if it is a
// socket. They still use the wrapper's Close, deadlines and addresses. If a wrapper embeds a
// Reading and declares Read, that Read is not left out.
type Reading interface {
	// ReadsOf returns the connection, always the same one, or nil if there is none.
	ReadsOf() net.Conn
}

// Writing is to Write what Reading is to Read.
type Writing interface {
	// WritesOf returns the connection, always the same one, or nil if there is none.
	WritesOf() net.Conn
}

// ReadCounter is a [Reading] that counts: its own Read calls that of the other connection and counts the
// bytes that this returned. If that connection is a socket, or leaves its reads to one, the socket is read
// instead, and CountRead is told how many bytes that returned. Read is still called for some of the bytes,
// as in handshakes and for long messages, and has to count those itself. So either Read or CountRead
// counts each byte, once.
//
// CountRead must be a method of the type that has the method ReadsOf. It counts for that type alone: a
// counter below it is told separately. A method with another name or type goes unnoticed: have the compiler
// look, by var _ experimental.ReadCounter = (*T)(nil).
type ReadCounter interface {
	Reading
	// CountRead is called after a read of n > 0 bytes. Like Read, it is called by one goroutine at a
	// time, possibly while another calls CountWritten. It must not block, and must not call the
	// connection.
	CountRead(n int)
}

// WriteCounter is to Write what ReadCounter is to Read: its own Write is mostly left out. A wrapper whose
// Write sleeps, as one does that limits the rate, must not be one. It need not be one to be without a
// goroutine while it is idle: its Write is then called by a goroutine that has nothing else to do. With TLS over
// it, what is to be written at Close, as the close_notify alert, has a second; then the wrapper's Close is called.
type WriteCounter interface {
	Writing
	// CountWritten is called after a write of n > 0 bytes, which may be only part of what was to
	// be written. One goroutine at a time calls it. It must not block, and must not call the
	// connection.
	CountWritten(n int)
}
