// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// ErrReaderLeft ends a connection whose reader was left by code of the program, such as a recorder: it has called
// runtime.Goexit, as testing.T.FailNow does, or it has panicked.
var ErrReaderLeft = errors.New("code of the program ended the goroutine that reads")

// Run implements warm.Task: it reads until the connection ends or is parked.
func (r *reader) Run() {
	reads := true
	defer func() {
		if reads {
			// On its own goroutine: at a panic, which ends the process with nothing recovered, a lock that
			// it takes may be held.
			go r.abandoned()
		}
	}()
	r.activate(start)
	err := r.in.act.failed
	if err == nil {
		err = r.read()
	}
	for err == errRests {
		r.restIdle()
		err = r.read()
	}
	reads = false
	if isParked(err) {
		runAlong(err)
		return
	}
	r.quit(err)
}

// abandoned ends the connection, whose reader's goroutine has ended, perhaps where it rested.
func (r *reader) abandoned() {
	r.endRest()
	r.quit(ErrReaderLeft)
}

// quit ends the connection, which nothing reads any longer.
func (r *reader) quit(err error) {
	r.launchNext()
	r.stop(err)
}

// Run implements park.Owner: it does what Wake does, but reads on this goroutine.
func (p *parkedConn) Run() { (*reader)(p).Run() }

// read is the frame loop. It always returns an error.
func (r *reader) read() error {
	if !r.hasBegun() {
		if err := r.readPreface(); err != nil {
			return r.violation(err)
		}
	}
	for {
		if r.in.act.OverLimit {
			if err := r.checkHardLimit(); err != nil {
				return r.violation(err)
			}
		}
		if r.in.act.Induced {
			if err := r.payForInduced(); err != nil {
				return err
			}
		}
		if err := r.readFrame(); err != nil {
			if isParked(err) || err == errRests {
				return err
			}
			if err = r.violation(err); err != nil {
				return err
			}
		}
	}
}

// payForInduced waits, if the peer has made us queue too much, until enough of it is written.
func (r *reader) payForInduced() error {
	if !r.owes() {
		return nil
	}
	r.in.act.Induced = false
	return r.waitForBudget(0)
}

func (r *reader) readFrame() error {
	b, err := r.awaitHeader()
	if err != nil {
		return err
	}
	h := frame.ParseHeader(b)
	if err := r.in.act.CheckSequence(h, !r.hasBegun()); err != nil {
		return err
	}
	if err := h.Check(r.core.Config().FrameLimit()); err != nil {
		return r.skipFaulty(h, err)
	}
	if r.tracer() != nil && (h.Type == frame.Data || !h.Type.IsKnown()) {
		r.traceReceived(h, nil)
	}
	if h.Type == frame.Data {
		r.in.act.rd.Discard(frame.HeaderLen)
		return r.onData(h)
	}
	if !h.Type.IsKnown() {
		// "Implementations MUST ignore and discard frames of unknown types",
		// section 4.1.
		return errors.Join(r.in.act.Useless(), r.skip(frame.HeaderLen+int(h.Length)))
	}
	if h.Length > frame.MinMaxFrameSize {
		return r.dispatchLarge(h)
	}
	b, err = r.await(frame.HeaderLen + int(h.Length))
	if err != nil {
		return err
	}
	r.in.act.behind, r.in.act.follower = r.in.act.rd.Buffered()-len(b), frame.Header{}
	if h.Type == frame.Headers {
		b = r.peekNext(b)
	}
	err = r.dispatch(h, b[frame.HeaderLen:])
	r.in.act.rd.Discard(frame.HeaderLen + int(h.Length))
	return err
}

// dispatchLarge handles a frame, other than DATA, that may be too long for the read buffer. It gathers
// the payload as it arrives.
func (r *reader) dispatchLarge(h frame.Header) error {
	a, pool := r.in.act, r.core.Config().Pool
	a.rd.Discard(frame.HeaderLen)
	defer a.DropGathered(pool)
	for left := int(h.Length); left > 0; {
		b, err := r.await(min(left, frame.MinMaxFrameSize))
		if err != nil {
			return unexpectedEOF(err)
		}
		a.Gather(b, pool)
		left -= len(b)
		a.rd.Discard(len(b))
	}
	a.behind, a.follower = a.rd.Buffered(), frame.Header{}
	return r.dispatch(h, a.Gathered(pool))
}

// skipFaulty returns fault, the error of a frame whose header breaks a rule. If the connection survives
// the error, skipFaulty drops the frame's payload first.
func (r *reader) skipFaulty(h frame.Header, fault error) error {
	var fe frame.Error
	if !errors.As(fault, &fe) || fe.IsConn() {
		return fault
	}
	if h.Type == frame.Data {
		if err := r.skipData(h.Length); err != nil {
			return err
		}
	}
	if err := r.skip(frame.HeaderLen + int(h.Length)); err != nil {
		return err
	}
	return fault
}

func (r *reader) dispatch(h frame.Header, p []byte) error {
	if r.tracer() != nil {
		r.traceReceived(h, p)
	}
	switch h.Type {
	case frame.Headers:
		return r.onHeaders(h, p)
	case frame.Continuation:
		return r.onContinuation(h, p)
	case frame.RSTStream:
		return r.onReset(h, p)
	case frame.Settings:
		return errors.Join(r.in.act.Useless(), r.onSettings(h, p))
	case frame.Ping:
		return r.onPing(h, p)
	case frame.GoAway:
		return errors.Join(r.in.act.Useless(), r.onGoAway(h, p))
	case frame.WindowUpdate:
		return r.onWindowUpdate(h, p)
	case frame.Priority:
		r.in.act.skipsEnd = false // as taking the lock would do
		return errors.Join(r.in.act.Useless(), frame.ParsePriority(h, p))
	default: // PUSH_PROMISE, which Header.Check has refused
		return frame.RefusePushPromise()
	}
}
