// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"sync"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/internal/warm"
)

// Parking. If there was no input for one to two periods of the sweeper, and the reader is at a frame
// boundary with nothing buffered, the reader gives back what the connection needs only while there is
// input, parks the connection, and returns. When there is input the poller starts another reader. So
// does terminate. Open streams do not keep a connection from parking; buffered bytes do. If input comes
// seldom the reader does not wait for the sweeper: it parks as soon as it has dealt with what came (see
// idlePredictor). A connection whose input must be waited for in its Read rests instead of being
// parked: see rest.go. If the system refuses to watch the connection's socket, the reader waits in a read,
// and asks again after park.RetryPeriod: when there was input next, or none for all that time.

// errParked ends the frame loop of a reader that has parked: it no longer has the reader's role.
var errParked = errors.New("parked")

// parkedWith is errParked with a task that the reader's goroutine runs next: see launch.
type parkedWith struct{ task warm.Task }

var parkedWiths = sync.Pool{New: func() any { return new(parkedWith) }}

func (*parkedWith) Error() string { return errParked.Error() }

// isParked reports whether err says that the reader has given the role away.
func isParked(err error) bool {
	_, with := err.(*parkedWith)
	return with || err == errParked
}

// runAlong runs the task of err, if it is a parkedWith.
func runAlong(err error) {
	if p, is := err.(*parkedWith); is {
		p.release().Run()
	}
}

func (p *parkedWith) release() warm.Task {
	t := p.task
	p.task = nil
	parkedWiths.Put(p)
	return t
}

// sweptConn is the Conn as a park.Quieter, for the sweeper.
type sweptConn Conn

// Quiet implements park.Quieter: it ends the reader's wait, so that the reader checks whether to park.
// A reader that lends the role moves the role to lent first, and checks quiet afterwards. So either the
// reader sees quiet, or Quiet sees the lent role; then a Kick keeps a reader that has not parked yet
// from parking.
func (q *sweptConn) Quiet() {
	if q.quiet.rests() {
		(*reader)(q).slimResting()
		return
	}
	func() {
		c := (*Conn)(q).lock()
		defer c.unlock() // also if a wrapper's SetReadDeadline ends the goroutine
		c.interruptAsQuiet()
	}()
	if (*Conn)(q).whoReads() == lent && q.handle.Kick() {
		q.handle.Wake() // starts a reader, which parks without what reading needs
	}
}

// awaitHeader waits for the header of the next frame. If that takes long it parks the connection.
func (r *reader) awaitHeader() ([]byte, error) {
	for {
		if r.in.act.rd.Buffered() < frame.HeaderLen {
			worked := r.in.act.batch
			r.finishBatch()
			if r.atBoundary() {
				if worked && r.goesAtOnce() {
					if err := r.park(); err != nil {
						return nil, err
					}
				}
				if (*Conn)(r).whoReads() != starting {
					r.watch()
				}
			}
			r.launchNext()
			if worked && r.atBoundary() && r.lend() {
				return nil, errParked
			}
			if r.quiet.rests() && r.atBoundary() {
				r.restBusy()
			}
		}
		b, err := r.peekHeader()
		if err == nil {
			r.resume()
			return b, nil
		}
		if !r.wasQuiet(err) {
			return nil, err
		}
		if !r.atBoundary() {
			continue // more has come since the sweeper was asked to watch
		}
		r.in.predictor.recordMiss()
		if err := r.park(); err != nil {
			return nil, err
		}
	}
}

// peekHeader waits for a frame header. A reader that was just started usually finds one at once. Only
// if it does not, the sweeper is asked to watch.
func (r *reader) peekHeader() ([]byte, error) {
	a := r.in.act
	if (*Conn)(r).move(look) != starting {
		return a.rd.Peek(frame.HeaderLen)
	}
	b, err := a.rd.TryPeek(frame.HeaderLen)
	if err == nil || r.quiet.rests() && !errors.Is(err, readyreader.ErrWouldBlock) {
		return b, err // the wrapper may not return this error again
	}
	// There is no input yet, or that can't be known without a wait. Peek gets any other error again.
	if r.atBoundary() {
		r.watch()
	}
	return a.rd.Peek(frame.HeaderLen)
}

// goesAtOnce reports whether a reader that has dealt with what came is to park without waiting for
// more. If the sweeper watches the connection, the reader has waited and input came, which is a hit.
func (r *reader) goesAtOnce() bool {
	switch {
	case r.in.parks != parks:
		return r.in.parks == refused && r.in.act.Now >= r.in.act.retryAt
	case r.in.swept:
		if r.in.predictor.recordHit() {
			r.sweeper().Trust(&r.in.act.entry)
		}
	case r.in.predictor.skips():
		r.in.predictor.recordSkip()
		return true
	case r.in.predictor.doubts() && !r.try():
		if !r.in.predictor.isNew() {
			r.in.predictor.recordMiss() // as the wait would usually have been
		}
		return true
	}
	return false
}

// try is watch for a reader whose wait will probably be a miss. It returns false if too many such
// readers wait already.
func (r *reader) try() bool {
	r.in.swept = r.sweeper().Try(&r.in.act.entry, (*sweptConn)(r))
	return r.in.swept
}

// watch makes the sweeper watch a connection that could park. It must not be called before the peer's
// SETTINGS have arrived: lifting the time limit for the preface would also lift the deadline that the
// sweeper sets, before the reader has seen it.
func (r *reader) watch() {
	if r.in.parks != never && !r.in.swept {
		r.in.swept = true
		r.sweeper().Add(&r.in.act.entry, (*sweptConn)(r))
	}
}

// park returns an error for which isParked is true if the reader has given the role away, and errRests
// if the connection has to rest. It returns nil if the reader has something to do first.
func (r *reader) park() error {
	if !r.wire.Drained() { // if it is drained, the poller sees at once whether there is input
		rd := r.in.act.rd
		if _, err := rd.TryPeek(frame.HeaderLen); !errors.Is(err, readyreader.ErrWouldBlock) || rd.Buffered() > 0 {
			return nil // input came meanwhile, or its end, which a read will return
		}
	}
	if r.quiet.rests() {
		r.launchNext()
		r.slim()
		r.traceRest()
		return errRests
	}
	var gone error = errParked
	next := r.in.act.next
	if r.in.act.next = nil; next != nil {
		p := parkedWiths.Get().(*parkedWith)
		p.task, gone = next, p
	}
	r.slim()
	if r.tracer() != nil {
		(*Conn)(r).traceEvent("parked", "")
	}
	was := r.in.parks
	if was == refused {
		r.in.parks = parks // before Park, which gives up the role
	}
	err := r.handle.Park()
	if err == nil {
		if o, ok := r.handler.(ParkObserver); ok && was == refused {
			o.Watched()
		}
		return gone
	}
	r.in.parks = was
	r.activate(start)
	r.unparked(err)
	if p, is := gone.(*parkedWith); is {
		r.in.act.next = p.release()
	}
	return nil
}

// activate takes the reader's role, and gets what the connection needs while there is input. ev is
// start or take.
func (r *reader) activate(ev roleEvent) {
	if (*Conn)(r).move(ev) == lent && ev == start {
		r.in.act.lending.missed()
	}
	c := r.lock()
	if r.in.act != nil {
		c.core.SetReader(protocol.ReaderWaits)
		c.unlock()
		return
	}
	kept := c.core.Unpark()
	c.unlock()
	r.in.activate(&r.wire, r.core.Side(), r.core.Config(), kept, r.hasBegun())
	if r.tracer() != nil {
		(*Conn)(r).traceEvent("awake", "")
	}
}

// slim gives back what a parked connection does not need.
func (r *reader) slim() {
	r.forgetMemos()
	c := r.lock()
	kept := r.in.act.Keep()
	c.unlock()
	r.in.freeze()
	r.in.release(r.core.Side(), r.core.Config())
	r.wire.ReleaseIdle()
	records := r.retained()
	c = r.lock()
	defer c.unlock()
	(*Conn)(r).move(release)
	c.core.Park(kept, records)
	c.show()
}

// forgetMemos takes the memos off the account, because the reader is about to park.
func (r *reader) forgetMemos() {
	c := r.lock()
	defer c.unlock()
	c.core.ForgetMemos(&r.in.act.Intake)
	c.show()
}

// atBoundary reports whether the reader is between two frames, and holds nothing that it could not give
// back. Within a frame the sweeper is not asked to watch: it could only wake the reader again and
// again, as long as the peer does not send the rest of the frame.
func (r *reader) atBoundary() bool {
	return r.in.act.rd.Buffered() == 0 && r.hasBegun() && !r.in.act.InsideBlock()
}
