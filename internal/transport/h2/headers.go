// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

func (r *reader) onHeaders(h frame.Header, p []byte) error {
	f, err := frame.ParseHeaders(h, p)
	if err != nil && !isStreamError(err) {
		return err
	}
	a := r.in.act
	if f.EndHeaders {
		if err := a.decode(f.Fragment, r.out.cfg); err != nil {
			return err
		}
		return r.onBlock(block{id: h.StreamID, end: f.EndStream, void: err})
	}
	a.frags.begin(h.StreamID, f.EndStream, err)
	return r.addFragment(f.Fragment)
}

func (r *reader) onContinuation(h frame.Header, p []byte) error {
	f, err := frame.ParseContinuation(h, p)
	if err != nil {
		return err
	}
	if err := r.addFragment(f.Fragment); err != nil || !f.EndHeaders {
		return err
	}
	a := r.in.act
	defer func() {
		a.frags.drop(r.out.cfg.Pool)
		a.ledger.note(&a.frags.pile)
	}()
	if err := a.decodeFragments(r.out.cfg); err != nil {
		return err
	}
	return r.onBlock(block{id: a.frags.id, end: a.frags.end, void: a.frags.void})
}

func (r *reader) addFragment(p []byte) error {
	a := r.in.act
	err := a.frags.add(p, r.out.cfg.maxHeaderList(), r.out.cfg.Pool)
	a.ledger.note(&a.frags.pile)
	return err
}

// block is a field block whose fields are decoded.
type block struct {
	id   uint32
	end  bool
	void error // a stream error of its frames; it was decoded all the same, for the HPACK table's sake
}

// onBlock takes the field block that was decoded.
func (r *reader) onBlock(b block) error {
	defer r.in.act.headers.trim()
	c := r.lock()
	r.enter(c)
	s := c.streams.get(b.id)
	if s != nil {
		ok := s.state.canRecv()
		if ok && !b.end {
			s.on(recvHeaders)
		}
		c.unlock()
		if !ok {
			return frame.StreamError(b.id, frame.StreamClosed, "HEADERS after END_STREAM")
		}
		return r.onMoreHeaders(s, b)
	}
	if !c.streams.unopened(b.id) {
		err := c.streams.checkUsed(b.id)
		c.unlock()
		return errors.Join(err, r.late()) // in flight when we ended the stream
	}
	err := c.streams.admit(b.id)
	if err != nil || c.life.takesNone() {
		c.streams.cutOff.grow(b.id)
		c.unlock()
		return err
	}
	c.life.admit() // a GOAWAY that is said from here on names b.id
	full := c.streams.peer() >= c.out.cfg.maxStreams()
	strained := c.account.standing(c.out.cfg.maxHeld()) != solvent
	wait := c.overBudget(true) || c.streams.isCrowded(c.out.cfg.maxStreams())
	c.unlock()
	switch {
	case b.void != nil:
		err = b.void
	case full:
		err = frame.StreamError(b.id, frame.RefusedStream, "too many concurrent streams")
	case strained:
		err = frame.StreamError(b.id, frame.EnhanceYourCalm, "the connection holds more than its bound of what its peer sent")
	case wait:
		err = r.waitForBudget(b.id)
	}
	if err == nil {
		err = r.accept(b)
	}
	if err != nil {
		return r.notAdmitted(err)
	}
	return nil
}

// notAdmitted tells the peer why its new stream is refused, before a connection
// that takes leave falls silent.
func (r *reader) notAdmitted(err error) error {
	err = r.violation(err)
	c := r.lock()
	c.life.decided()
	c.streams.cutOff.grow(c.streams.lastPeer)
	c.finish()
	c.unlock()
	return err
}

// accept sets up a stream that the peer opened.
func (r *reader) accept(b block) error {
	a := r.in.act
	st, err := r.handler.Accept(&a.headers, b.end)
	a.ledger.gained = a.headers.gained() // also of a request that is refused: others may be like it
	if err != nil {
		var fe frame.Error
		if errors.As(err, &fe) {
			fe.StreamID = b.id
			return fe
		}
		return frame.StreamError(b.id, frame.InternalError, err.Error())
	}
	a.nonsense.useful()
	s := &st.stream
	st.conn = (*Conn)(r)
	c := r.lock()
	c.life.decided()
	c.streams.begin(s, b.id, c.streams.side.other(), &c.windows)
	if b.end {
		s.on(recvEnd)
	} else {
		s.on(recvHeaders)
	}
	c.account.charge(s.held)
	c.account.share(s, a.headers.held)
	r.enter(c)
	r.audit(c)
	c.streamOpened()
	c.unlock()
	r.handler.Opened(st, b.end)
	return nil
}

// onMoreHeaders takes a block for a stream that is open.
func (r *reader) onMoreHeaders(s *stream, b block) error {
	a := r.in.act
	switch {
	case b.void != nil:
		return r.streamFault(s, b.void)
	case a.headers.TooLarge():
		return r.streamFault(s, frame.StreamError(s.id, frame.EnhanceYourCalm, "header list larger than announced"))
	}
	a.nonsense.useful()
	kind := endedHalf
	if b.end {
		kind = r.endRemote(s)
	}
	err := s.recv.OnHeaders(&a.headers, b.end)
	if s.opener == r.streams.side {
		l := &a.ledger
		l.stream, l.block, l.gained = s, a.headers.held, a.headers.gained()
	}
	return r.remoteEnded(s, kind, err)
}
