// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// Times of the end.
const (
	// lastFlush bounds how long the last words of a connection may take: GOAWAY on
	// the way out, the peer's reason on the way in.
	lastFlush = time.Second

	// partingPatience is how many times lastFlush a client may take to hang up while
	// it goes on sending: it is then still busy with what we sent.
	partingPatience = 10

	// drainPatience is how long the PING between the two steps of a drain may take, and
	// drainGrace how long after its answer a stream may still come: some clients say first
	// that they have seen the PING, and then what they had to say when they saw it.
	drainPatience = 5 * time.Second
	drainGrace    = 5 * time.Millisecond
)

// terminate ends a connection from outside of its reader. The reader is woken, finds the
// connection dead, and tells the owner and all streams.
func (c *Conn) terminate(err error) {
	l := c.lock()
	was := l.kill(err)
	l.unlock()
	if was == protocol.Dead {
		return
	}
	parked := c.handle.Close()
	c.wire.Conn.Close()
	switch {
	case was == protocol.Fresh: // there is no reader to do it
		c.tellAll()
	case parked:
		c.handle.Wake() // starts a reader, which cleans up
	}
}

// kill marks the connection as dead, and returns the stage that ends by it. The first
// caller's error stands.
func (c *locked) kill(err error) (was protocol.Stage) {
	if was = c.core.Kill(err); was == protocol.Dead {
		return was
	}
	c.show()
	c.keepalive.stop()
	// The reader must not wait for what closing the connection waits for,
	// such as a TLS alert that nobody reads.
	c.lastReadUntil(time.Unix(1, 0))
	return was
}

// lastReadUntil bounds the reader's wait for input, which is not lifted any more.
func (c *locked) lastReadUntil(t time.Time) {
	c.core.SetReadBy(t)
	c.wire.readUntil(t)
}

// resetReadDeadline is for a reader that the sweeper took out of its wait. What bounds the wait
// for the preface is over then.
func (c *locked) resetReadDeadline() {
	c.wire.readUntil(c.core.ReadBy())
}

// part closes a connection on which everything was said. A server lets the
// client hang up first, for a while, also where it can't end its own direction before: if it closed
// its socket with input unread, the system would take back replies that the client has not read yet.
func (c *Conn) part() {
	if c.core.Side() == protocol.Client {
		c.terminate(protocol.ErrDrained)
		return
	}
	c.wire.closeWrite()
	l := c.lock()
	defer l.unlock()
	l.closeLater(protocol.ErrDrained, partingPatience)
}

// tellAll tells the owner that the connection is gone, and then its streams. It
// runs once, on the reader if there ever was one: so a Receiver hears nothing else
// after it, or at the same time.
func (c *Conn) tellAll() {
	l := c.lock()
	err, lost := l.core.Cause(), l.core.LoseStreams()
	l.unlock()
	if c.tracer() != nil {
		c.traceClosed(err)
	}
	c.handler.Closed(err)
	for s := range lost {
		s.Receiver().OnAbort(&protocol.StreamError{Code: frame.InternalError, Cause: err})
	}
}

// closeLater ends the connection with err after lastFlush, unless the reader has ended it
// before. If there was input meanwhile it waits once more, as often as extensions says.
func (c *locked) closeLater(err error, extensions int) {
	if c.core.IsDead() {
		return
	}
	c.core.SetHeard(false)
	conn := (*Conn)(c)
	c.core.SetPatience(time.AfterFunc(lastFlush, func() {
		l := conn.lock()
		again := extensions > 0 && l.core.Heard()
		if again {
			l.closeLater(err, extensions-1)
		}
		l.unlock()
		if !again {
			conn.terminate(err)
		}
	}))
}
