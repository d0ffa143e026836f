// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/frame"

// EndKind is what the peer's END_STREAM made of a stream.
type EndKind uint8

// What an end may be.
const (
	EndedNot   EndKind = iota // it is not known to have come
	EndedHalf                 // our side goes on, or was gone before
	EndedBoth                 // it is over, and forgotten
	EndedEarly                // it is over for us; giveUp follows once the Receiver was told
)

// OnData counts a DATA frame against the windows and finds its stream: nil for
// one that is over. buffered is how many bytes of it, and behind it, have arrived. Of a frame that
// ends its stream and has arrived whole, as most have, kind is what that end made of the stream.
func (c *Conn) OnData(in *Intake, h frame.Header, buffered int) (s *Stream, kind EndKind, err error) {
	c.enter(in)
	in.credit = c.account.ahead()
	if err := c.Count(in, h.Length); err != nil {
		return nil, EndedNot, err
	}
	c.sample(in, h.Length)
	s = c.streams.get(h.StreamID)
	if s == nil {
		if c.streams.unopened(h.StreamID) {
			return nil, EndedNot, frame.ConnError(frame.ProtocolError, "DATA on an idle stream")
		}
		return nil, EndedNot, c.streams.checkClosed(h.StreamID)
	}
	// "If a DATA frame is received whose stream is not in the 'open' or
	// 'half-closed (local)' state, the recipient MUST respond with a stream
	// error of type STREAM_CLOSED", section 6.1.
	if !s.on(recvData) {
		return nil, EndedNot, frame.StreamError(h.StreamID, frame.StreamClosed, "DATA after END_STREAM")
	}
	if err := s.in.Receive(h.Length); err != nil {
		return nil, EndedNot, frame.StreamError(h.StreamID, frame.FlowControlError, err.Error())
	}
	if h.Flags.Has(frame.FlagEndStream) && !h.Flags.Has(frame.FlagPadded) && buffered >= int(h.Length) {
		return s, c.ended(s), nil
	}
	if inc := s.consume(0); inc > 0 {
		c.out.windowUpdate(s.id, inc)
		in.Induced = true
	}
	return s, EndedNot, nil
}

// Count counts n bytes of DATA against the connection's window: also those of a frame whose header
// breaks a rule.
func (c *Conn) Count(in *Intake, n uint32) error {
	inc, err := c.windows.Arrived(n)
	if err != nil {
		return frame.ConnError(frame.FlowControlError, err.Error())
	}
	c.account.arrived(n)
	if inc > 0 {
		c.update(inc)
		in.Induced = true
	}
	return nil
}

// sample counts n bytes of DATA for the estimate of the path.
func (c *Conn) sample(in *Intake, n uint32) {
	if c.out.cfg.StaticWindow {
		return
	}
	ping, window := c.windows.Sample(n, in.Now)
	if ping {
		c.out.ping(bdpPing)
	}
	if window > 0 {
		c.GrowWindows(window)
	}
	c.boundWindows()
}

// GiveBack lets the peer send n bytes more on s, in place of padding.
func (c *Conn) GiveBack(in *Intake, s *Stream, n uint32) {
	if s.state.canRecv() && !c.life.dead() {
		c.out.windowUpdate(s.id, s.consume(n))
		in.Induced = true
	}
}

// EndRemote follows the peer's END_STREAM on s.
func (c *Conn) EndRemote(in *Intake, s *Stream) EndKind {
	c.enter(in)
	return c.ended(s)
}

func (c *Conn) ended(s *Stream) EndKind {
	if !s.on(recvEnd) {
		return EndedHalf
	}
	switch {
	case s.state == stateClosed:
		c.forget(s)
		return EndedBoth
	case c.streams.side.stopsAtEnd():
		s.on(sendReset) // nothing is sent from here on; giveUp says so
		c.streams.stop(s, c.out.cfg.Pool)
		return EndedEarly
	}
	return EndedHalf
}

// GiveUp forgets s, which the peer has ended before we did, and tells it that
// the rest will not come.
func (c *Conn) GiveUp(s *Stream) {
	c.out.reset(s.id, frame.NoError)
	c.forget(s)
}

// NoteBody charges, later, by how much the memory has grown that s holds of its body.
func (in *Intake) NoteBody(s *Stream, grew int) {
	in.ledger.stream = s
	in.ledger.body += grew
}

// enter charges what the ledger has.
func (c *Conn) enter(in *Intake) {
	if !in.ledger.empty() {
		c.account.enter(&in.ledger)
		c.audit(in)
	}
}

// audit follows each charge: it notes if so much is held that the connection must end.
func (c *Conn) audit(in *Intake) {
	in.OverLimit = c.account.limitState(c.out.cfg.maxHeld()) == overHardLimit
}

// CheckHardLimit is the end of a connection that holds too much; nil if it does not any more.
func (c *Conn) CheckHardLimit(in *Intake) error {
	c.enter(in)
	if c.audit(in); !in.OverLimit {
		return nil
	}
	return errOverHardLimit(c.account.held, c.out.cfg.maxHeld())
}

// ForgetMemos takes the memos off the account, before the connection is parked.
func (c *Conn) ForgetMemos(in *Intake) {
	c.enter(in)
	for i := range in.memos.slot {
		c.account.drop(in.memos.slot[i].shared)
	}
	in.memos.part()
}
