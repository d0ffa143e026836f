// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
)

// A reader that has woken a goroutine that waits for messages of the only stream lends it the reader's
// role: see inline_reader.go.

// Lend says that a goroutine that waited for a message of s was woken, and will wait again. Only the
// reader may call it, within Take or Filled.
func (s *Stream) Lend() { (*reader)(s.conn).in.act.lending.asked = true }

// lend parks the connection, with everything that reading needs, if a goroutine may soon wait for a
// message and read. It reports whether the reader's role is gone. The sweeper keeps watching the
// connection. If nobody takes the role, the sweeper has the connection parked for good.
func (r *reader) lend() bool {
	if !r.in.act.lending.wanted() {
		return false
	}
	if r.in.parks != parks || !r.in.can.Has(readyreader.EndsReads) || !r.in.swept || !r.ground().Takes() || !r.wire.Drained() {
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
	if r.quiet.Load() { // the sweeper does not watch the connection any more, see Quiet
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

// unparked is called when Park has failed with err.
func (r *reader) unparked(err error) {
	if errors.Is(err, park.ErrKicked) || errors.Is(err, park.ErrClosed) || errors.Is(err, net.ErrClosed) {
		return // there is something to do, or the program has closed the socket: the reader goes on
	}
	if r.in.parks != never {
		r.refuse()
	}
	if o, ok := r.handler.(ParkObserver); ok {
		o.Unwatched(err)
	}
}

// refuse is called when the system has refused to watch the socket. From now on the reader waits in a read, and asks
// again now and then.
func (r *reader) refuse() {
	a := r.in.act
	watched := r.in.swept && r.sweeper().Remove(&a.entry) // if it is swept, and not watched, it will hear Quiet
	r.in.parks = refused
	a.retryAt = time.Duration(clock.Now()) + park.RetryPeriod
	if watched {
		r.in.swept = false
		r.watch()
	}
}
