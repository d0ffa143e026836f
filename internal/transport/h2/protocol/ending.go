// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// ending is what only a connection needs that is about to end, or has ended.
type ending struct {
	cause        error       // of a dead one
	writeErr     error       // why, if a write failed
	flushed      Waiter      // woken when all is written or can't be; nil: nobody waits for that
	reason       drainReason // what Drain was given
	lastAccepted uint32      // the last stream that the peer's GOAWAY named
	lastSaid     uint32      // the last stream that our farewell named
	goAwayCause  *ConnError  // what the peer's GOAWAY complained of, if it did

	heard bool // a batch ended since SetHeard(false)

	// The driver's.
	patience stopper   // closes a connection that takes too long to end
	readBy   time.Time // bounds the reader's wait for input; zero: nothing does
}

// stopper is a timer.
type stopper interface{ Stop() bool }

// drainReason is what both GOAWAYs of a drain say.
type drainReason struct {
	code  frame.ErrCode
	debug string
}

// signalFlush wakes the goroutine that waits for it: all is written, or never will be.
func (e *ending) signalFlush() {
	if e != nil && e.flushed != nil {
		e.flushed.Wake()
		e.flushed = nil
	}
}

// stopPatience is for a connection that has ended.
func (e *ending) stopPatience() {
	if e != nil && e.patience != nil {
		e.patience.Stop()
	}
}

// CauseOf is what to tell the streams when reading ended with err: the rule
// that was broken, else the peer's word, else what we did ourselves, and only
// then what the system says.
func (c *Conn) CauseOf(err error) error {
	var ce *ConnError
	var known *IOError
	e := c.ending()
	switch {
	case e.cause != nil:
		return e.cause
	case errors.As(err, &ce):
		return ce
	case e.goAwayCause != nil:
		return e.goAwayCause
	case c.life.exit == gone:
		return ErrDrained
	case e.writeErr != nil:
		return e.writeErr
	case errors.As(err, &known):
		return known
	}
	return &IOError{Op: "read", Err: err}
}

// DropCoder gives back what encodes header blocks, at the end of the connection.
func (c *Conn) DropCoder() { c.out.dropCoder() }

// SetPatience has t stopped when the connection ends: it is to end it.
func (c *Conn) SetPatience(t stopper) { c.ending().patience = t }

// SetHeard says whether there was input since closing began. A batch that ends sets it, too.
func (c *Conn) SetHeard(heard bool) {
	if c.end != nil {
		c.end.heard = heard
	}
}

// Heard reports whether there was input since SetHeard(false).
func (c *Conn) Heard() bool { return c.end != nil && c.end.heard }

// SetReadBy bounds the driver's wait for input, which is not lifted any more. readBy returns that; zero:
// nothing bounds it.
func (c *Conn) SetReadBy(t time.Time) { c.ending().readBy = t }

// ReadBy is described with setReadBy.
func (c *Conn) ReadBy() time.Time {
	if c.end == nil {
		return time.Time{}
	}
	return c.end.readBy
}

// Kill marks the connection as dead, and returns the stage that ends by it. The first
// caller's error stands.
func (c *Conn) Kill(err error) (was Stage) {
	if was = c.life.kill(); was == Dead {
		return was
	}
	c.ending().cause = err
	for s := range c.streams.byID.all() {
		c.streams.stop(s, c.out.cfg.Pool)
	}
	c.streams.wakeAll()
	c.end.stopPatience()
	c.wakeReader()
	c.DropOutput()
	c.end.signalFlush()
	return was
}
