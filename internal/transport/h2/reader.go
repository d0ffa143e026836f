// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// Run implements warm.Task: it reads until the connection ends or is parked.
func (r *reader) Run() {
	r.activate()
	err := r.in.act.failed
	if err == nil {
		err = r.read()
	}
	if isParked(err) {
		runAlong(err)
		return
	}
	r.launchNext()
	r.stop(err)
}

// Run implements park.Owner: as Wake, on this goroutine.
func (p *parkedConn) Run() { (*reader)(p).Run() }

// read is the frame loop. It returns only with an error.
func (r *reader) read() error {
	if !r.in.gotPreface {
		if err := r.readPreface(); err != nil {
			return r.violation(err)
		}
	}
	for {
		if r.in.act.broke {
			if err := r.bankruptcy(); err != nil {
				return r.violation(err)
			}
		}
		if r.in.act.caused {
			if err := r.payForCaused(); err != nil {
				return err
			}
		}
		if err := r.readFrame(); err != nil {
			if isParked(err) {
				return err
			}
			if err = r.violation(err); err != nil {
				return err
			}
		}
	}
}

// payForCaused waits until enough of what was queued for the peer's sake is written, if
// there is too much of it.
func (r *reader) payForCaused() error {
	r.in.act.caused = false
	c := r.lock()
	over := c.overBudget(false)
	c.unlock()
	if over {
		return r.waitForBudget(0)
	}
	return nil
}

func (r *reader) readFrame() error {
	b, err := r.awaitHeader()
	if err != nil {
		return err
	}
	h := frame.ParseHeader(b)
	if err := r.checkSequence(h); err != nil {
		return err
	}
	if err := h.Check(r.out.cfg.maxFrame()); err != nil {
		return r.skipFaulty(h, err)
	}
	if r.out.cfg.Trace != nil && (h.Type == frame.Data || h.Type > frame.Continuation) {
		r.traceReceived(h, nil)
	}
	if h.Type == frame.Data {
		r.in.act.rd.Discard(frame.HeaderLen)
		return r.onData(h)
	}
	if h.Type > frame.Continuation {
		// "Implementations MUST ignore and discard frames of unknown types",
		// section 4.1.
		return errors.Join(r.in.act.useless(), r.skip(frame.HeaderLen+int(h.Length)))
	}
	if h.Length > frame.MinMaxFrameSize {
		return r.dispatchLarge(h)
	}
	b, err = r.await(frame.HeaderLen + int(h.Length))
	if err != nil {
		return err
	}
	err = r.dispatch(h, b[frame.HeaderLen:])
	r.in.act.rd.Discard(frame.HeaderLen + int(h.Length))
	return err
}

// dispatchLarge takes a frame, other than DATA, that need not fit the read
// buffer. It is gathered as it arrives.
func (r *reader) dispatchLarge(h frame.Header) error {
	r.in.act.rd.Discard(frame.HeaderLen)
	p := &r.in.act.large
	defer func() {
		p.drop(r.out.cfg.Pool)
		r.in.act.ledger.note(p)
	}()
	for left := int(h.Length); left > 0; {
		b, err := r.await(min(left, frame.MinMaxFrameSize))
		if err != nil {
			return unexpectedEOF(err)
		}
		p.add(b, r.out.cfg.Pool)
		r.in.act.ledger.note(p)
		left -= len(b)
		r.in.act.rd.Discard(len(b))
	}
	return r.dispatch(h, p.join(r.out.cfg.Pool))
}

// checkSequence applies the rules about which frame may come next.
func (r *reader) checkSequence(h frame.Header) error {
	if !r.in.gotPreface && (h.Type != frame.Settings || h.Flags.Has(frame.FlagAck)) {
		if h.LooksLikeHTTP1() {
			return frame.ConnError(frame.ProtocolError, "failed reading the frame payload: http2: frame too large, note that the frame header looked like an HTTP/1.1 header")
		}
		return frame.ConnError(frame.ProtocolError, "the first frame is not SETTINGS")
	}
	open := r.in.act.frags.id
	// "Any number of CONTINUATION frames can be sent, as long as the preceding
	// frame is on the same stream", section 6.10; and nothing in between.
	if (open != 0 || h.Type == frame.Continuation) && (h.Type != frame.Continuation || h.StreamID != open) {
		return frame.ConnError(frame.ProtocolError, "field block and CONTINUATION do not follow each other")
	}
	return nil
}

// skipFaulty drops the payload of a frame whose header breaks a rule, if the
// connection survives it.
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
	if r.out.cfg.Trace != nil {
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
		return errors.Join(r.in.act.useless(), r.onSettings(h, p))
	case frame.Ping:
		return r.onPing(h, p)
	case frame.GoAway:
		return errors.Join(r.in.act.useless(), r.onGoAway(h, p))
	case frame.WindowUpdate:
		return r.onWindowUpdate(h, p)
	case frame.Priority:
		_, err := frame.ParsePriority(h, p)
		return errors.Join(r.in.act.useless(), err)
	default: // PUSH_PROMISE, which Header.Check has refused
		return frame.ParsePushPromise(h, p)
	}
}
