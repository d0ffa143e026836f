// SPDX-License-Identifier: Apache-2.0

package experimental

import (
	"net"
	"syscall"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// TryReader is a [ReadyReader] that can tell at once that there is nothing to read, and which
// socket to wait for. Servers and channels hold neither a goroutine nor a buffer for it while it is idle. It is
// for wrappers around a socket that change what they read, as encryption does, or hold some of it: for those
// that only count there is [ReadCounter], which is faster. A Write of the wrapper's own is called by a
// goroutine that may wait, as that of any wrapper.
//
// Read, ReadOnReady and TryRead are called by one goroutine at a time, not always the same one, and in any order:
// each goes on where the one before it ended. A wrapper calls those of [SocketReader] for them. Close and the
// setters of deadlines may be called at the same time.
//
// A wrapper that embeds a TryReader and declares Read or ReadOnReady has to declare TryRead as well, or it is
// read as a ReadyReader or by its Read. TLS or ALTS over a TryReader reads by Read or ReadOnReady, with a goroutine.
type TryReader interface {
	ReadyReader
	// TryRead is ReadOnReady without the wait: where there is no input it returns ErrWouldBlock, and nothing
	// is taken from pool. It must return that only if no byte can be had of what the wrapper
	// holds either, because the socket alone is waited for from then on: bytes that it
	// still holds would lie there until the other side sends more. It must not block: the goroutine that calls
	// it may have many other connections to read.
	//
	// Who calls it owns buf, which ReadOnReady's rules are for: the wrapper keeps no reference to it.
	TryRead(size int, pool mem.BufferPool) (buf *[]byte, n int, err error)
	// RawConn returns the socket below, always the same one, to be waited for and for nothing else. A
	// TryReader that returns nil is read as a ReadyReader.
	RawConn() syscall.RawConn
}

// ErrWouldBlock is what TryRead returns, maybe wrapped, where there is no input. It is not to be changed.
var ErrWouldBlock error = readyreader.ErrWouldBlock

// SocketReader returns the TryReader of conn, which is a TCP or unix socket, a wrapper that leaves its reads to
// one, or a TryReader. It returns false for any other connection, and where the system can't read a
// socket without waiting: a wrapper around such a connection should not be a TryReader. Who uses it must not read
// conn in another way at the same time.
func SocketReader(conn net.Conn) (TryReader, bool) {
	s := readyreader.NewSocket(conn)
	can := s.Can()
	if !can.Has(readyreader.ReadsReady|readyreader.TriesReads) || can.HasAny(readyreader.WaitsInRead|readyreader.HoldsBytes) {
		return nil, false
	}
	return s.Layer, true
}
