// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/frame"

// EndKind says what the peer's END_STREAM has done to a stream.
type EndKind uint8

// The kinds of an end.
const (
	EndedNot   EndKind = iota // nothing: there was no END_STREAM, or it is not handled yet
	EndedHalf                 // our side goes on, or the stream was gone before
	EndedBoth                 // the stream is over on both sides, and out of the table
	EndedEarly                // the stream is over for us; the driver calls GiveUp once it has told the Receiver
)

// OnData counts a DATA frame against the windows and returns its stream, or nil if the stream is over.
// buffered is how many bytes of the frame's payload, and of what follows it, have arrived. If the frame
// ends its stream and has arrived whole, as most such frames have, OnData also handles the end, and
// kind says what it did.
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

// Count counts n bytes of DATA against the connection's window. It is also called for a frame whose
// header breaks a rule.
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

// GiveBack lets the peer send n more bytes on s, to make up for padding.
func (c *Conn) GiveBack(in *Intake, s *Stream, n uint32) {
	if s.state.canRecv() && !c.life.dead() {
		c.out.windowUpdate(s.id, s.consume(n))
		in.Induced = true
	}
}

// EndRemote handles the peer's END_STREAM on s.
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
		s.on(sendReset) // nothing is sent from here on; GiveUp tells the peer
		c.streams.stop(s, c.out.cfg.Pool)
		c.ease()
		return EndedEarly
	}
	return EndedHalf
}

// GiveUp forgets s, which the peer has ended before we did, and tells the peer that the rest will not
// come.
func (c *Conn) GiveUp(s *Stream) {
	c.out.reset(s.id, frame.NoError)
	c.forget(s)
}

// NoteBody records that the memory that s holds of its body has grown by grew bytes. It is charged
// later.
func (in *Intake) NoteBody(s *Stream, grew int) {
	in.ledger.stream = s
	in.ledger.body += grew
}

// enter charges what is in the ledger.
func (c *Conn) enter(in *Intake) {
	if !in.ledger.empty() {
		c.account.enter(&in.ledger)
		c.audit(in)
	}
}

// audit is called after each charge. It records in the Intake whether the connection must end because
// it holds too much.
func (c *Conn) audit(in *Intake) {
	in.OverLimit = c.account.limitState(c.out.cfg.maxHeld()) == overHardLimit
}

// CheckHardLimit returns the error that ends a connection that holds too much, or nil if it no longer
// does.
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
