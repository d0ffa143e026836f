// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// Drain takes leave of the peer in two steps: streams that are open, or on
// their way, are served to their end, then the connection closes. code and
// debug say why.
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

// DrainObserver is a [Handler] that wants to know when the connection begins to drain.
type DrainObserver interface {
	// DrainBegins follows the first Drain. Any goroutine may call it, with no lock held, and it must
	// not block.
	DrainBegins()
}

// Draining reports whether Drain was called while the connection was alive.
func (c *Conn) Draining() bool {
	l := c.lock()
	defer l.unlock()
	return l.core.IsDraining()
}

// drainLate goes on with the second step, when the peer has answered or does not.
func (c *Conn) drainLate() {
	l := c.lock()
	l.core.EndDrain()
	l.unlockAndFlush()
}

// Retire takes no new stream and closes the connection when the last one is
// gone. The peer is not told before that.
func (c *Conn) Retire() {
	l := c.lock()
	l.core.Leave()
	l.unlockAndFlush()
}

// Silent reports whether the peer's SETTINGS, with which it begins, have not arrived.
func (c *Conn) Silent() bool {
	l := c.lock()
	defer l.unlock()
	return !l.keepalive.begun
}

// EndSilentDrain takes the second step of a drain at once, if the peer is silent: it has no stream.
func (c *Conn) EndSilentDrain() {
	l := c.lock()
	if !l.keepalive.begun {
		l.core.EndDrain()
	}
	l.unlockAndFlush()
}
