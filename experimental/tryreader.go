// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"net"
	"syscall"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// TryReader is a [ReadyReader] that can say at once that there is nothing to read, and which socket to
// wait for. Servers and channels hold neither a goroutine nor a buffer for it while it is idle. It is
// meant for wrappers around a socket that change what they read, as encryption does, or hold some of it.
// For wrappers that only count there is [ReadCounter], which is faster. Like that of any wrapper, a
// TryReader's own Write is called by a goroutine that may wait.
//
// One goroutine at a time calls Read, ReadOnReady and TryRead, not always the same goroutine, and in any
// order: each call goes on where the one before it ended. A wrapper implements them by
// those of the TryReader that [SocketReader] returns. Close and the setters of deadlines may be called at the same time.
//
// A wrapper that embeds a TryReader and declares Read, ReadOnReady or TryRead must declare all three;
// otherwise it is read as a ReadyReader or by its Read. TLS or ALTS over a TryReader reads by Read or
// ReadOnReady, with a goroutine.
type TryReader interface {
	ReadyReader
	// TryRead is like ReadOnReady but does not wait: if there is no input it returns ErrWouldBlock, and
	// takes nothing from pool. It must not return ErrWouldBlock if the wrapper can return a byte from what
	// it holds: from then on only the socket is waited for, and bytes that the wrapper holds would stay there
	// until the other side sends more. TryRead must not block: the goroutine that calls it may have many
	// other connections to read.
	//
	// The caller owns buf, as with ReadOnReady: the wrapper keeps no reference to it.
	TryRead(size int, pool mem.BufferPool) (buf *[]byte, n int, err error)
	// RawConn returns the socket below, always the same one. The caller only waits for it. A TryReader that
	// returns nil is read as a ReadyReader.
	RawConn() syscall.RawConn
}

// ErrWouldBlock is what TryRead returns, perhaps wrapped, if there is no input. It must not be changed.
var ErrWouldBlock error = readyreader.ErrWouldBlock

// SocketReader returns the TryReader of conn, which is a TCP or unix socket, a wrapper that leaves its reads to
// one, or a TryReader. It returns false for any other connection, and if the system can't read a socket
// without waiting: a wrapper around such a connection should not be a TryReader. While the caller uses the
// TryReader, it must not read conn in another way.
func SocketReader(conn net.Conn) (TryReader, bool) {
	s := readyreader.NewSocket(conn)
	can := s.Can()
	if !can.Has(readyreader.ReadsReady|readyreader.TriesReads) || can.Has(readyreader.HoldsBytes) {
		return nil, false
	}
	return s.Layer, true
}
