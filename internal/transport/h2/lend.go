// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/park"
)

// A reader that has woken the one who waits for messages of the only stream lends it the role:
// see inline_reader.go.

// Lend says that a goroutine which waited for a message of s is awake, and will wait again. It is
// for the reader, within Take or Filled.
func (s *Stream) Lend() { (*reader)(s.conn).in.act.lending.asked = true }

// lend parks the connection with all that it needs to be read, if somebody may be about to read it
// who waits for a message. It reports whether the reader's role is gone. The sweeper goes on
// watching, and has what nobody came for parked for good.
func (r *reader) lend() bool {
	if !r.in.act.lending.wanted() {
		return false
	}
	if !r.in.parks || !r.in.swept || !r.ground().Takes() || !r.wire.Drained() {
		return false
	}
	c := r.lock()
	alone := c.core.OpenStreams() == 1
	c.unlock()
	if !alone {
		return false
	}
	conn := (*Conn)(r)
	conn.move(lend)
	if r.quiet.Load() { // the sweeper does not watch any more, see Quiet
		conn.move(keep)
		return false
	}
	if r.tracer() != nil {
		(*Conn)(r).traceEvent("lent", "")
	}
	err := r.handle.Park()
	if err == nil {
		return true
	}
	r.unparked(err)
	conn.move(keep)
	return false
}

// unparked follows a Park that failed.
func (r *reader) unparked(err error) {
	if errors.Is(err, park.ErrKicked) || errors.Is(err, park.ErrClosed) {
		return // look again: there is something to do
	}
	r.in.parks = false // it waits in a read, as other connections do
	if o, ok := r.handler.(ParkObserver); ok {
		o.Unwatched(err)
	}
}
