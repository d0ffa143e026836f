// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// Times of the end.
const (
	// lastFlush bounds how long the last output or input of a connection may take: our GOAWAY on the
	// way out, the peer's reason on the way in.
	lastFlush = time.Second

	// partingPatience is how many times lastFlush a client may take to close the connection while it
	// still sends: it is still handling what we sent.
	partingPatience = 10

	// drainPatience is how long the answer to the PING between the two steps of a drain may take.
	// drainGrace is how long after that answer a stream may still come: some clients first answer the
	// PING, and then send what they had queued when it arrived.
	drainPatience = 5 * time.Second
	drainGrace    = 5 * time.Millisecond
)

// terminate ends a connection from outside of its reader. It wakes the reader, which finds the
// connection dead and tells the Handler and all streams.
func (c *Conn) terminate(err error) {
	was := c.kill(err, false)
	if was == protocol.Dead {
		return
	}
	if c.handle.Close() && was != protocol.Fresh {
		c.handle.Wake() // starts a reader, which cleans up, and does not wait for what closing waits for
	}
	if was == protocol.Fresh { // there is no reader to do it
		defer c.tellAll() // also if a program's Close ends the goroutine
	}
	c.closeWire()
}

// closeWire closes the net.Conn of a connection that is dead. The first caller does: a program's Close may count.
func (c *Conn) closeWire() {
	l := c.lock()
	first := l.core.ClaimClose()
	l.unlock()
	if first {
		c.wire.Conn.Close()
	}
}

// kill does what locked.kill does, with err or with what CauseOf makes of it.
func (c *Conn) kill(err error, cause bool) (was protocol.Stage) {
	l := c.lock()
	defer l.unlock() // also if a wrapper's SetReadDeadline ends the goroutine
	if cause {
		err = l.core.CauseOf(err)
	}
	return l.kill(err)
}

// kill marks the connection as dead, and returns the stage in which it was. The error of the first call
// is the cause.
func (c *locked) kill(err error) (was protocol.Stage) {
	if was = c.core.Kill(err); was == protocol.Dead {
		return was
	}
	c.show()
	c.keepalive.stop()
	// The reader must not wait for what closing the connection waits for, such as a TLS alert that the
	// peer does not read.
	c.lastReadUntil(time.Unix(1, 0))
	return was
}

// lastReadUntil bounds the reader's wait for input. The bound is never lifted again.
func (c *locked) lastReadUntil(t time.Time) {
	c.core.SetReadBy(t)
	c.wire.readUntil(t)
}

// resetReadDeadline is called by a reader whose wait the sweeper, or InlineReader.Wake, has interrupted.
// It restores the bound of lastReadUntil, or none. The time limit for the preface is over by then.
func (c *locked) resetReadDeadline() {
	c.wire.readUntil(c.core.ReadBy())
}

// interruptAsQuiet ends the reader's wait, so that the reader checks whether to park. It must not be called
// for a connection that rests. The flag and the deadline change only together, with mu held, here and in
// wasQuiet: a reader that met the deadline without the flag would believe that the connection has failed.
func (c *locked) interruptAsQuiet() { c.wire.interrupt(&c.quiet) }

// part closes a connection on which everything was said. A server waits for the client to close first,
// for a while. If it closed its socket with unread input, the system would take back replies that the
// client has not read yet. It waits also where it can't end its own direction first.
func (c *Conn) part() {
	if c.core.Side() == protocol.Client {
		c.terminate(protocol.ErrDrained)
		return
	}
	l := c.lock()
	l.closeLater(protocol.ErrDrained, partingPatience)
	l.unlock()
	c.wire.closeWrite() // a program's connection may wait here
}

// tellAll tells the Handler that the connection is gone, and then the connection's streams. It runs
// once, on the reader if there ever was one. So a Receiver gets no other call during or after it.
func (c *Conn) tellAll() {
	l := c.lock()
	err, lost := l.core.Cause(), l.core.LoseStreams()
	l.unlock()
	if c.tracer() != nil {
		c.traceClosed(err)
	}
	// All of it happens also if code of the program, such as a recorder, panics or ends the goroutine.
	if h, ok := c.handler.(EndHandler); ok {
		defer h.Told()
	}
	defer func() {
		for s := range lost {
			s.Receiver().OnAbort(&protocol.StreamError{Code: frame.InternalError, Cause: err})
		}
	}()
	c.handler.Closed(err)
}

// closeLater ends the connection with err after lastFlush, unless it has ended before. If there was
// input meanwhile it waits for another lastFlush, up to extensions times.
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
