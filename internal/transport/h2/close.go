// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/warm"
)

// lastFlush bounds how long the last words of a connection may take: GOAWAY on
// the way out, the peer's reason on the way in.
const lastFlush = time.Second

// Close ends the connection at once. Its streams are told err, by the reader.
func (c *Conn) Close(err error) {
	if err == nil {
		err = ErrClosed
	}
	c.terminate(err)
}

// terminate ends a connection from outside of its reader, which is made to
// look, finds the connection dead and tells everyone.
func (c *Conn) terminate(err error) {
	if !c.kill(err) {
		return
	}
	orphan := c.handle.Close()
	c.nc.Close()
	switch {
	case !c.hasReader():
		c.tellAll()
	case orphan:
		warm.Go((*reader)(c)) // it was parked: it comes back to clean up
	}
}

// kill marks the connection as dead, and reports whether it was alive. The first
// caller's error stands.
func (c *Conn) kill(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return false
	}
	c.dead, c.ending().cause = true, err
	c.show()
	for _, s := range c.table.byID {
		c.dropPending(s)
		s.signalSpace()
	}
	c.table.wakeAll()
	c.stopTimers()
	c.wakeReaderLocked()
	c.dropOutput()
	c.signalFlush()
	// The reader must not wait for what closing the connection waits for,
	// such as a TLS alert that nobody reads.
	c.setReadDeadline(time.Unix(1, 0))
	return true
}

func (c *Conn) hasReader() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}

// dropOutput frees what is queued, unless the holder of the write token is
// going to. mu is held.
func (c *Conn) dropOutput() {
	if !c.writing || c.mute {
		c.out.free(c.cfg.Pool)
		c.replies, c.updates = 0, 0
	}
}

// signalFlush tells who waits for it that all is written, or never will be.
// mu is held.
func (c *Conn) signalFlush() {
	if e := c.end; e != nil && e.flushDone != nil {
		close(e.flushDone)
		e.flushDone = nil
	}
}

// stopReading is the end of the reader, and of the connection: it says goodbye
// where a rule was broken, and tells everyone.
func (c *Conn) stopReading(err error) {
	var ce *ConnError
	said := errors.As(err, &ce) && !ce.Remote && c.sayGoAway(ce)
	alive := c.kill(c.readCause(err))
	c.tellAll()
	if said && alive {
		c.drainSocket()
	}
	c.handle.Close()
	c.nc.Close()
	c.mu.Lock()
	c.dropOutput() // what was added to it since
	c.dropEncoder()
	c.mu.Unlock()
	c.act.release(c.cfg.Pool)
	c.act = nil
}

// tellAll tells the owner that the connection is gone, and then its streams. It
// runs once, on the reader if there ever was one: so nothing else arrives at a
// Receiver after it, or beside it.
func (c *Conn) tellAll() {
	c.mu.Lock()
	err, streams := c.end.cause, c.table.byID
	for _, s := range streams {
		s.state = stateClosed
	}
	c.table.clear()
	c.mu.Unlock()
	c.handler.Closed(err)
	for _, s := range streams {
		s.recv.OnAbort(&StreamError{Code: frame.InternalError, Cause: err})
	}
}

// readCause is what to tell the streams when reading ended with err: the rule
// that was broken, else the peer's word, else what we did ourselves, and only
// then what the system says.
func (c *Conn) readCause(err error) error {
	var ce *ConnError
	var known *IOError
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.ending()
	switch {
	case e.cause != nil:
		return e.cause
	case errors.As(err, &ce):
		return ce
	case e.goAwayCause != nil:
		return e.goAwayCause
	case c.left:
		return ErrDrained
	case e.writeErr != nil:
		return e.writeErr
	case errors.As(err, &known):
		return known
	}
	return &IOError{Op: "read", Err: err}
}

// sayGoAway tells the peer which rule it broke. It reports whether that is with
// the system.
func (c *Conn) sayGoAway(ce *ConnError) bool {
	c.mu.Lock()
	if c.dead || c.mute {
		c.mu.Unlock()
		return false
	}
	c.leaving, c.left = true, true // no new streams, and no farewell but this
	c.table.wakeAll()
	last := c.table.lastPeer
	if c.farewell {
		// "Endpoints MUST NOT increase the value they send in the last stream
		// identifier", section 6.8.
		last = c.end.lastSaid
	}
	c.appendGoAway(last, ce.Code, ce.Reason)
	done := make(chan struct{})
	c.ending().flushDone = done
	c.nc.SetWriteDeadline(time.Now().Add(lastFlush))
	c.unlockAndFlush()
	late := time.NewTimer(2 * lastFlush) // where deadlines have no effect
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}

// drainSocket reads what the peer still sends, for a while: closing a socket
// with unread input makes the system discard what we sent last.
func (c *Conn) drainSocket() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.mu.Lock()
	c.setReadDeadline(time.Now().Add(lastFlush / 4))
	c.mu.Unlock()
	for left := 1 << 20; left > 0; {
		if _, err := c.act.rd.Peek(1); err != nil && !c.wasQuiet(err) {
			return
		}
		n := c.act.rd.Buffered()
		left -= n
		c.act.rd.Discard(n)
	}
}
