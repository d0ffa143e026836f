// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// ending has the state that a connection needs only while it ends, or after it has ended.
type ending struct {
	cause        error       // why the connection is dead; nil if it is not
	writeErr     error       // the error of a write; nil if none failed
	flushed      Waiter      // woken when everything is written or can't be; nil if nobody waits for that
	reason       drainReason // the arguments of Drain
	lastAccepted uint32      // the last stream that the peer's GOAWAY named
	lastSaid     uint32      // the last stream that our farewell named
	goAwayCause  *ConnError  // the peer's GOAWAY, if its code is an error

	heard bool // a batch ended since SetHeard(false)

	// Set by the driver.
	closing  bool      // somebody closes the connection below
	patience stopper   // closes a connection that takes too long to end
	readBy   time.Time // bounds the reader's wait for input; zero means no bound
}

// ClaimClose reports whether the caller is the one to close the connection below: the first that asks.
func (c *Conn) ClaimClose() bool {
	e := c.ending()
	first := !e.closing
	e.closing = true
	return first
}

// stopper is a timer, such as a time.Timer.
type stopper interface{ Stop() bool }

// drainReason is the code and debug data of both GOAWAYs of a drain.
type drainReason struct {
	code  frame.ErrCode
	debug string
}

// signalFlush wakes the Waiter for the last output: everything is written, or never will be.
func (e *ending) signalFlush() {
	if e != nil && e.flushed != nil {
		e.flushed.Wake()
		e.flushed = nil
	}
}

// stopPatience stops the timer that would end the connection. The connection has ended.
func (e *ending) stopPatience() {
	if e != nil && e.patience != nil {
		e.patience.Stop()
	}
}

// CauseOf returns the error that the streams are told after reading ended with err. That is the rule
// that the peer broke, else the reason in the peer's GOAWAY, else the reason on our side, and only then
// the system's error: that of reading, with that of a write that failed before.
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
	case errors.As(err, &known) && known.Op == "write":
		return known
	case known != nil:
		err = known.Err
	}
	return &IOError{Op: "read", Err: err, Before: e.writeErr}
}

// DropCoder gives the encoder of header blocks back, at the end of the connection.
func (c *Conn) DropCoder() { c.out.dropCoder() }

// SetPatience registers t, a timer that ends the connection. It is stopped when the connection ends
// before that.
func (c *Conn) SetPatience(t stopper) { c.ending().patience = t }

// SetHeard says whether there was input since closing began. The end of a batch sets it, too.
func (c *Conn) SetHeard(heard bool) {
	if c.end != nil {
		c.end.heard = heard
	}
}

// Heard reports whether there was input since SetHeard(false).
func (c *Conn) Heard() bool { return c.end != nil && c.end.heard }

// SetReadBy bounds the driver's wait for input. The bound is never lifted again. ReadBy returns it;
// zero means that there is no bound.
func (c *Conn) SetReadBy(t time.Time) { c.ending().readBy = t }

// ReadBy is described with SetReadBy.
func (c *Conn) ReadBy() time.Time {
	if c.end == nil {
		return time.Time{}
	}
	return c.end.readBy
}

// Kill marks the connection as dead, and returns the stage in which it was. The error of the first call
// is the cause.
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
