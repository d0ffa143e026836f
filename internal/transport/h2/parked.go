// SPDX-License-Identifier: Apache-2.0

package h2

import "syscall"

// parkedConn is the connection as the poller knows it.
type parkedConn Conn

// RawConn implements park.Owner.
func (p *parkedConn) RawConn() syscall.RawConn { return p.wire.RawConn() }

// Wake implements park.Owner: there is input, or the end of it.
func (p *parkedConn) Wake() { (*Conn)(p).ground().Go((*reader)(p)) }

// ParkObserver is a [Handler] that wants to know of a connection which turns out to be one that can't
// be parked.
type ParkObserver interface {
	// Unwatched is called when the system refuses to watch the connection's socket, which
	// is read by a goroutine from then on. It must not block.
	Unwatched(err error)
}
