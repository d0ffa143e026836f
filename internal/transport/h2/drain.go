// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// Drain ends the connection in two steps: streams that are open, or on their way, run to their end, and
// then the connection closes. code and debug go into both GOAWAYs.
func (c *Conn) Drain(code frame.ErrCode, debug string) {
	l := c.lock()
	first := l.core.CanDrain()
	if l.core.Drain(code, debug) {
		time.AfterFunc(drainPatience, c.drainLate)
	}
	l.unlockAndFlush()
	if o, ok := c.handler.(DrainObserver); ok && first {
		o.DrainBegins()
	}
}

// DrainObserver is an optional interface of a [Handler] that wants to know when the connection begins
// to drain.
type DrainObserver interface {
	// DrainBegins is called after the first Drain. Any goroutine may call it, with no lock held. It
	// must not block.
	DrainBegins()
}

// Draining reports whether Drain was called while the connection was alive.
func (c *Conn) Draining() bool {
	l := c.lock()
	defer l.unlock()
	return l.core.IsDraining()
}

// drainLate takes the second step of a drain: the peer has answered the PING, or has taken too long.
func (c *Conn) drainLate() {
	l := c.lock()
	l.core.EndDrain()
	l.unlockAndFlush()
}

// Retire makes the connection open no new streams, and close when the last stream is gone. The peer is
// not told before that.
func (c *Conn) Retire() {
	l := c.lock()
	l.core.EndAfterStreams()
	l.unlockAndFlush()
}

// Silent reports whether the peer's first SETTINGS have not arrived yet.
func (c *Conn) Silent() bool { return !c.hasBegun() }

// EndSilentDrain takes the second step of a drain at once if the peer is silent, since a silent peer
// has no streams.
func (c *Conn) EndSilentDrain() {
	l := c.lock()
	if c.Silent() {
		l.core.EndDrain()
	}
	l.unlockAndFlush()
}
