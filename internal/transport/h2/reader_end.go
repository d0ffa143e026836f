// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"time"
)

// stop is the end of the reader, and of the connection: it tells the peer if that
// broke a rule, and then the owner and all streams.
func (r *reader) stop(err error) {
	var ce *ConnError
	said := errors.As(err, &ce) && !ce.Remote && r.sayGoAway(ce)
	c := r.lock()
	was := c.kill(c.causeOf(err))
	c.unlock()
	(*Conn)(r).tellAll()
	if said && was != dead {
		r.discardInput()
	}
	r.handle.Close()
	r.wire.nc.Close()
	c = r.lock()
	c.dropOutput() // what was queued since
	c.out.dropCoder()
	c.unlock()
	r.in.release(r.streams.side, r.out.cfg)
}

// causeOf is what to tell the streams when reading ended with err: the rule
// that was broken, else the peer's word, else what we did ourselves, and only
// then what the system says.
func (c *locked) causeOf(err error) error {
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

// sayGoAway tells the peer which rule it broke, and waits until the system has that frame.
// It reports whether it has.
func (r *reader) sayGoAway(ce *ConnError) bool {
	c := r.lock()
	c.out.reader = waiting // no batch ends any more
	done := c.sayGoAway(ce)
	if done == nil {
		c.unlock()
		return false
	}
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

// discardInput reads what the peer still sends, for a while: closing a socket
// with unread input makes the system discard what we sent last.
func (r *reader) discardInput() {
	if !r.wire.closeWrite() {
		return
	}
	c := r.lock()
	c.lastReadUntil(time.Now().Add(lastFlush / 4))
	c.unlock()
	rd := r.in.act.rd
	for left := 1 << 20; left > 0; {
		if _, err := rd.Peek(1); err != nil && !r.wasQuiet(err) {
			return
		}
		n := rd.Buffered()
		left -= n
		rd.Discard(n)
	}
}
