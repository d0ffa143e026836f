// SPDX-License-Identifier: Apache-2.0

package h2

import "syscall"

// parkedConn is the Conn as a park.Owner, for the poller.
type parkedConn Conn

// RawConn implements park.Owner.
func (p *parkedConn) RawConn() syscall.RawConn { return p.wire.RawConn() }

// Wake implements park.Owner. The poller calls it when there is input, or the end of it.
func (p *parkedConn) Wake() { (*Conn)(p).ground().Go((*reader)(p)) }

// ParkObserver is an optional interface of a [Handler] that wants to know when it turns out that its
// connection can't be parked. The calls must neither block nor call code of the program.
type ParkObserver interface {
	// Unwatched is called when the system refuses to watch the connection's socket. From then on a
	// goroutine reads it, until Watched is called. Unwatched may be called again meanwhile.
	Unwatched(err error)
	// Watched is called after the connection was parked after all, or was about to be. By then it may have ended, or
	// been woken; if the system has refused once more meanwhile, that is overlooked until it does so again.
	Watched()
}
