// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

func (c *Conn) onHeaders(h frame.Header, p []byte) error {
	f, err := frame.ParseHeaders(h, p)
	if err != nil && !isStreamError(err) {
		return err
	}
	if f.EndHeaders {
		if err := c.decode(f.Fragment); err != nil {
			return err
		}
		return c.onBlock(h.StreamID, f.EndStream, err)
	}
	c.act.frags.begin(h.StreamID, f.EndStream, err)
	return c.addFragment(f.Fragment)
}

func isStreamError(err error) bool {
	var fe frame.Error
	return errors.As(err, &fe) && !fe.IsConn()
}

func (c *Conn) onContinuation(h frame.Header, p []byte) error {
	f, err := frame.ParseContinuation(h, p)
	if err != nil {
		return err
	}
	a := &c.act.frags
	if err := c.addFragment(f.Fragment); err != nil || !f.EndHeaders {
		return err
	}
	defer c.dropFragments()
	if err := c.decodeFragments(); err != nil {
		return err
	}
	return c.onBlock(a.id, a.end, a.void)
}

func (c *Conn) addFragment(p []byte) error {
	a := c.act
	err := a.frags.add(p, c.cfg.maxHeaderList(), c.cfg.Pool)
	a.ledger.note(&a.frags.pile)
	return err
}

func (c *Conn) dropFragments() {
	c.act.frags.drop(c.cfg.Pool)
	c.act.ledger.note(&c.act.frags.pile)
}

// onBlock takes the field block that was decoded. void is a stream error its frames already
// deserve; the block is decoded all the same, to keep the table in step.
func (c *Conn) onBlock(id uint32, end bool, void error) error {
	b := &c.act.headers
	defer b.slim()
	c.mu.Lock()
	c.enter()
	s := c.table.get(id)
	if s != nil {
		ev := recvHeaders
		if end {
			ev = recvEnd
		}
		_, ok := s.state.next(ev)
		c.mu.Unlock()
		if !ok {
			return frame.StreamError(id, frame.StreamClosed, "HEADERS after END_STREAM")
		}
		return c.onMoreHeaders(s, b, end, void)
	}
	if !c.table.idle(id, c.side) {
		err := c.table.checkUsed(id, c.side)
		c.mu.Unlock()
		return errors.Join(err, c.late()) // in flight when we ended the stream
	}
	err := c.table.admit(id, c.side)
	if err != nil || c.takesNone() {
		c.table.cutOff.grow(id)
		c.mu.Unlock()
		return err
	}
	// A GOAWAY that is said from here on names id.
	c.admitting = true
	full := c.table.peer >= c.table.maxPeer
	strained := c.account.standing(c.cfg.maxHeld()) != solvent
	wait := c.overBudgetLocked(true) || c.crowded()
	c.mu.Unlock()
	switch {
	case void != nil:
		err = void
	case full:
		err = frame.StreamError(id, frame.RefusedStream, "too many concurrent streams")
	case strained:
		err = frame.StreamError(id, frame.EnhanceYourCalm, "the connection holds more than its bound of what its peer sent")
	case wait:
		err = c.waitForBudget(id)
	}
	if err == nil {
		err = c.accept(id, b, end)
	}
	if err != nil {
		return c.notAdmitted(err)
	}
	return nil
}

// notAdmitted tells the peer why its new stream is refused, before a connection
// that takes leave falls silent.
func (c *Conn) notAdmitted(err error) error {
	err = c.violation(err)
	c.mu.Lock()
	c.admitting = false
	c.table.cutOff.grow(c.table.lastPeer)
	c.tryPart()
	c.mu.Unlock()
	return err
}

func (c *Conn) onMoreHeaders(s *Stream, b *HeaderBlock, end bool, void error) error {
	switch {
	case void != nil:
		return c.streamFault(s, void)
	case b.TooLarge():
		return c.streamFault(s, frame.StreamError(s.id, frame.EnhanceYourCalm, "header list larger than announced"))
	}
	c.act.nonsense.useful()
	kind := endedHalf
	if end {
		kind = c.endRemote(s)
	}
	err := s.recv.OnHeaders(b, end)
	if s.opener == c.side {
		l := &c.act.ledger
		l.stream, l.block, l.gained = s, b.held, b.gained()
	}
	return c.remoteEnded(s, kind, err)
}

// accept sets up a stream that the peer opened.
func (c *Conn) accept(id uint32, b *HeaderBlock, end bool) error {
	s, err := c.handler.Accept(b, end)
	if err != nil {
		var fe frame.Error
		if errors.As(err, &fe) {
			fe.StreamID = id
			return fe
		}
		return frame.StreamError(id, frame.InternalError, err.Error())
	}
	c.act.nonsense.useful()
	c.act.ledger.gained = b.gained()
	c.mu.Lock()
	c.admitting = false
	c.register(s, id, c.side.other())
	c.account.charge(s.held)
	c.share(s, b.held)
	c.enter()
	s.state = stateOpen
	if end {
		s.state = stateHalfClosedRemote
	}
	c.streamOpened()
	c.mu.Unlock()
	c.handler.Opened(s, end)
	return nil
}
