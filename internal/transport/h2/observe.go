// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"syscall"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
)

// Stats describes a connection at one moment.
type Stats struct {
	Parked  bool // it has neither a goroutine nor a read buffer
	Streams int  // how many streams are open

	// Held is the memory, in bytes, that the account is charged for what came from the peer.
	Held int
	// Queued is how many bytes wait to be sent: the memory of encoded frames, and the DATA that waits
	// for windows. The parcel that is being written is not included.
	Queued int
	// Reserved is the memory, in bytes, of a read buffer that the connection holds for its whole life.
	// A pooled read buffer is held only while bytes in it are parsed, and is not included.
	Reserved int

	// Partial is the memory, in bytes, of TLS or ALTS records that have arrived in part, or that could
	// not be sent yet.
	Partial int

	SendWindow uint32 // bytes that we may send
	RecvWindow uint32 // bytes that the peer may send
}

// Stats returns the state of the connection. It may be called at any time, also after the end.
func (c *Conn) Stats() Stats {
	s := Stats{Parked: c.handle.Parked()}
	if !c.in.can.HasAny(readyreader.ReadsReady | readyreader.TriesReads) {
		s.Reserved = readOptions(c.core.Config()).Size
	}
	s.Partial = c.wire.Held()
	l := c.lock()
	defer l.unlock()
	if l.core.IsDead() {
		return Stats{}
	}
	at := l.core.State()
	s.Streams, s.Held, s.Queued = at.Streams, int(at.Held), at.Queued
	s.SendWindow, s.RecvWindow = at.SendWindow, at.RecvWindow
	return s
}

// WhyNot says why the connection can't be parked, or returns "" if it can be, as far as is known: what
// a wrapped connection can do may turn out only while it is read. It may be called at any time.
func (c *Conn) WhyNot() string {
	switch {
	case c.ground() != nil: // such a ground watches any connection
	case !park.Supported():
		return "there is no poller for sockets on this system"
	case clock.InBubble():
		return "it is in a bubble of testing/synctest"
	}
	return readyreader.WhyNot(c.wire.Socket, c.core.Config().Pooled)
}

// System returns the socket, for asking the operating system about its options. It returns nil if the
// connection is not known to use a socket. It may be called at any time.
func (c *Conn) System() syscall.RawConn {
	if !c.in.can.Has(readyreader.TriesReads) {
		return nil
	}
	return c.wire.RawConn()
}

// Cause returns why the connection ended, or nil if it has not.
func (c *Conn) Cause() error {
	l := c.lock()
	defer l.unlock()
	return l.core.Cause()
}

// Idle reports whether no stream is open, and how long ago the last one ended. It needs
// Config.TrackIdle.
func (c *Conn) Idle() (time.Duration, bool) {
	l := c.lock()
	defer l.unlock()
	return time.Duration(clock.Now() - l.since), l.core.OpenStreams() == 0
}
