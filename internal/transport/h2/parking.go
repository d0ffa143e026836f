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

// Parking. A reader that has found nothing to read for one to two periods of
// the sweeper, and stands at a frame boundary with nothing buffered, gives back
// what the connection needs only while there is input, parks, and returns. The
// poller starts another reader when there is input, and terminate does. Open streams do not
// keep a connection from parking; bytes in hand do. Where input comes seldom the reader does
// not wait for the sweeper: it parks as soon as it has dealt with what came (see idlePredictor). A connection
// that has to be waited for in its Read rests in place of parking: see rest.go.

// errParked ends the frame loop of a reader that has parked: the role is no longer its own.
var errParked = errors.New("parked")

// parkedWith is errParked for a reader that has a task to run on its goroutine: see launch.
type parkedWith struct{ task warm.Task }

var parkedWiths = sync.Pool{New: func() any { return new(parkedWith) }}

func (*parkedWith) Error() string { return errParked.Error() }

// isParked reports whether the frame loop ended because the reader's role is gone.
func isParked(err error) bool {
	_, with := err.(*parkedWith)
	return with || err == errParked
}

// runAlong runs the task of a parkedWith.
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

// sweptConn is the connection as the sweeper knows it.
type sweptConn Conn

// Quiet implements park.Quieter: it ends the reader's wait, so that it looks whether to park. A
// reader that lends looks at quiet afterwards: it sees that, or is seen here, and if it has
// not parked yet a Kick keeps it from that.
func (q *sweptConn) Quiet() {
	if q.quiet.rests() {
		(*reader)(q).slimResting()
		return
	}
	q.wire.interrupt(&q.quiet)
	if (*Conn)(q).whoReads() == lent && q.handle.Kick() {
		q.handle.Wake() // to park without what reading needs
	}
}

// awaitHeader waits for the next frame, parking when that takes long.
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
			continue // more came since the sweeper was asked
		}
		r.in.predictor.recordMiss()
		if err := r.park(); err != nil {
			return nil, err
		}
	}
}

// peekHeader waits for a frame header. A reader that was just started mostly finds one at
// once; only if it does not, the sweeper is asked to watch.
func (r *reader) peekHeader() ([]byte, error) {
	a := r.in.act
	if (*Conn)(r).move(look) != starting {
		return a.rd.Peek(frame.HeaderLen)
	}
	b, err := a.rd.TryPeek(frame.HeaderLen)
	if err == nil || r.quiet.rests() && !errors.Is(err, readyreader.ErrWouldBlock) {
		return b, err // which the wrapper may not tell again
	}
	// There is nothing yet, or it can't be told without a wait. Peek meets any other error again.
	if r.atBoundary() {
		r.watch()
	}
	return a.rd.Peek(frame.HeaderLen)
}

// goesAtOnce reports whether a reader that has dealt with what came is to park without
// waiting for more. One that the sweeper watches had waited, and input came.
func (r *reader) goesAtOnce() bool {
	switch {
	case !r.in.parks:
	case r.in.swept:
		if r.in.predictor.recordHit() {
			r.ground().Sweeper().Trust(&r.in.act.entry)
		}
	case r.in.predictor.skips():
		r.in.predictor.recordSkip()
		return true
	case r.in.predictor.doubts() && !r.try():
		if !r.in.predictor.isNew() {
			r.in.predictor.recordMiss() // as it would be, mostly
		}
		return true
	}
	return false
}

// try is watch for a reader whose wait will probably be a miss; it fails if too many such readers wait.
func (r *reader) try() bool {
	r.in.swept = r.ground().Sweeper().Try(&r.in.act.entry, (*sweptConn)(r))
	return r.in.swept
}

// watch makes sure that the sweeper looks at a connection that could park. Before the
// peer's SETTINGS it must not: the end of the preface's time limit would lift the
// sweeper's deadline before the reader has met it.
func (r *reader) watch() {
	if r.in.parks && !r.in.swept {
		r.in.swept = true
		r.ground().Sweeper().Add(&r.in.act.entry, (*sweptConn)(r))
	}
}

// park returns errParked if the reader's role is gone, nil if there is
// something to do first.
func (r *reader) park() error {
	if !r.wire.Drained() { // else the poller sees at once whether there is input
		rd := r.in.act.rd
		if _, err := rd.TryPeek(frame.HeaderLen); !errors.Is(err, readyreader.ErrWouldBlock) || rd.Buffered() > 0 {
			return nil // input came meanwhile, or the end of it, which a read will tell
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
	err := r.handle.Park()
	if err == nil {
		return gone
	}
	r.unparked(err)
	r.activate(start)
	if p, is := gone.(*parkedWith); is {
		r.in.act.next = p.release()
	}
	return nil
}

// activate takes what a connection needs while there is input. ev is start, or take.
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

// forgetMemos takes the memos off the account: the reader is about to park.
func (r *reader) forgetMemos() {
	c := r.lock()
	defer c.unlock()
	c.core.ForgetMemos(&r.in.act.Intake)
	c.show()
}

// atBoundary reports whether the reader stands between two frames, with nothing in hand
// that it could not give back. Within a frame the sweeper is not asked to watch: it could
// only wake the reader again and again, for as long as the peer does not send the rest.
func (r *reader) atBoundary() bool {
	return r.in.act.rd.Buffered() == 0 && r.hasBegun() && !r.in.act.InsideBlock()
}
