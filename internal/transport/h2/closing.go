// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// terminate ends a connection from outside of its reader. The reader is woken, finds the
// connection dead, and tells the owner and all streams.
func (c *Conn) terminate(err error) {
	l := c.lock()
	was := l.kill(err)
	l.unlock()
	if was == dead {
		return
	}
	parked := c.handle.Close()
	c.wire.nc.Close()
	switch {
	case was == fresh: // there is no reader to do it
		c.tellAll()
	case parked:
		c.handle.Wake() // starts a reader, which cleans up
	}
}

// kill marks the connection as dead, and returns the stage that ends by it. The first
// caller's error stands.
func (c *locked) kill(err error) (was stage) {
	if was = c.life.kill(); was == dead {
		return was
	}
	c.ending().cause = err
	c.account.show(true)
	for s := range c.streams.byID.all() {
		c.streams.stop(s, c.out.cfg.Pool)
	}
	c.streams.wakeAll()
	c.heart.stop()
	c.end.stopPatience()
	c.wakeReader()
	c.dropOutput()
	c.end.signalFlush()
	// The reader must not wait for what closing the connection waits for,
	// such as a TLS alert that nobody reads.
	c.lastReadUntil(time.Unix(1, 0))
	return was
}

// dropOutput frees what is queued, unless the holder of the write token will.
func (c *locked) dropOutput() {
	if !c.out.writing || c.life.mute {
		c.out.drop()
	}
}

// lastReadUntil bounds the reader's wait for input, which is not lifted any more.
func (c *locked) lastReadUntil(t time.Time) {
	c.ending().readBy = t
	c.wire.readUntil(t)
}

// resetReadDeadline is for a reader that the sweeper took out of its wait. What bounds the wait
// for the preface is over then.
func (c *locked) resetReadDeadline() {
	if c.end != nil {
		c.wire.readUntil(c.end.readBy)
		return
	}
	c.wire.readUntil(time.Time{})
}

// wakeReader ends a wait in waitForBudget, which then looks again.
func (c *locked) wakeReader() {
	if c.streams.handlers.blocked {
		c.streams.handlers.blocked = false
		c.in.act.wake <- struct{}{} // the reader's, which waits
	}
}

// tellAll tells the owner that the connection is gone, and then its streams. It
// runs once, on the reader if there ever was one: so a Receiver hears nothing else
// after it, or at the same time.
func (c *Conn) tellAll() {
	l := c.lock()
	err, lost := l.end.cause, l.streams.lose()
	l.unlock()
	if c.out.cfg.Trace != nil {
		c.traceClosed(err)
	}
	c.handler.Closed(err)
	for s := range lost.all() {
		s.recv.OnAbort(&StreamError{Code: frame.InternalError, Cause: err})
	}
}

// closeLater ends the connection with err after lastFlush, unless the reader has ended it
// before. If there was input meanwhile it waits once more, as often as extensions says.
func (c *locked) closeLater(err error, extensions int) {
	if c.life.dead() {
		return
	}
	c.pulse.heard.Store(false)
	conn := (*Conn)(c)
	c.ending().patience = time.AfterFunc(lastFlush, func() {
		if extensions > 0 && conn.pulse.heard.Load() {
			l := conn.lock()
			defer l.unlock()
			l.closeLater(err, extensions-1)
			return
		}
		conn.terminate(err)
	})
}
