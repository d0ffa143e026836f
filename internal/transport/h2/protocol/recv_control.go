// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"time"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// OnReset handles RST_STREAM. It returns the stream that it ends and what to tell its Receiver, or a
// nil stream if that stream was over already.
func (c *Conn) OnReset(in *Intake, h frame.Header, p []byte) (s *Stream, why *StreamError, err error) {
	code, err := frame.ParseRSTStream(h, p)
	if err != nil {
		return nil, nil, err
	}
	if s = c.streams.get(h.StreamID); s == nil {
		if c.streams.unopened(h.StreamID) {
			return nil, nil, frame.ConnError(frame.ProtocolError, "RST_STREAM on an idle stream")
		}
		return nil, nil, c.Late(in)
	}
	s.on(recvReset)
	c.forget(s)
	return s, &StreamError{Code: code, Remote: true, Unprocessed: code == frame.RefusedStream}, nil
}

// OnWindowUpdate handles WINDOW_UPDATE.
func (c *Conn) OnWindowUpdate(h frame.Header, p []byte) error {
	inc, err := frame.ParseWindowUpdate(h, p)
	if err != nil {
		return err
	}
	if h.StreamID == 0 {
		if err := c.windows.Send().Add(inc); err != nil {
			return frame.ConnError(frame.FlowControlError, err.Error())
		}
		return nil
	}
	s := c.streams.get(h.StreamID)
	if s == nil {
		if c.streams.unopened(h.StreamID) {
			return frame.ConnError(frame.ProtocolError, "WINDOW_UPDATE on an idle stream")
		}
		// It isn't counted, as one on an open stream isn't: a peer that gives back each frame of a long
		// message has thousands on their way when the stream ends, and one costs only a look-up.
		// "WINDOW_UPDATE [...] frames can be received in this state for a short period after a
		// [...] frame containing the END_STREAM flag is sent", section 5.1.
		return nil
	}
	if err := s.out.Add(inc); err != nil {
		return frame.StreamError(h.StreamID, frame.FlowControlError, err.Error())
	}
	c.streams.schedule(s)
	return nil
}

// PingResult is what a PING means to the driver.
type PingResult struct {
	Answer  bool // it answers a PING of ours
	Drained bool // it answers the PING between the two steps of a drain: the driver takes the second step a moment later
	Streams int  // how many are open
	Sent    bool // HEADERS or DATA went out since the last PING
}

// OnPing handles a PING that arrived at the time now.
func (c *Conn) OnPing(in *Intake, h frame.Header, p []byte, now time.Duration) (PingResult, error) {
	data, err := frame.ParsePing(h, p)
	if err != nil {
		return PingResult{}, err
	}
	if h.Flags.Has(frame.FlagAck) {
		return PingResult{Answer: true, Drained: c.onPingAck(data, now)}, in.Useless()
	}
	c.out.pong(data)
	in.Induced = true
	sent := c.worked
	c.worked = false
	return PingResult{Streams: c.streams.open(), Sent: sent}, nil
}

// onPingAck handles the answer to one of our PINGs. The answer to a PING of keepalive needs no handling
// beyond that of any input.
func (c *Conn) onPingAck(data [8]byte, now time.Duration) (drained bool) {
	switch data {
	case bdpPing:
		n, changed := c.windows.Answered(now)
		if changed && n < c.windows.Announced() {
			c.lowerWindows(n)
			return false
		}
		c.GrowWindows(n) // also if nothing changed: streams that kept windows small may have ended
		c.out.windowUpdate(0, c.windows.Owed())
	case DrainPing:
		return c.life.pong()
	}
	return false
}

// GrowWindows makes n the receive window of the connection and of every stream, because the estimator
// found that the path can carry that much. It keeps the windows of the streams within windowBound: a
// peer that keeps to its windows, on streams that nobody reads, must not come near the bound on what it
// makes us hold. The connection's window needs no such bound: it is given back as DATA arrives, read or
// not, so its size does not make us hold anything.
func (c *Conn) GrowWindows(n uint32) {
	most := c.windowBound()
	if uint64(most)*4 < uint64(c.windows.Announced())*5 {
		most = 0 // not worth SETTINGS: otherwise each stream that comes or goes would cause some
	}
	inc, grown := c.windows.Grow(n, most, c.ReceiveWindows())
	if grown {
		c.out.settings(frame.Setting{ID: frame.InitialWindowSize, Value: c.windows.Announced()})
	}
	c.out.windowUpdate(0, inc)
}

// windowBound returns how far the windows of streams may grow: those of all open streams together to a
// quarter of the account's bound. So twice as many streams may be open before the windows are lowered.
func (c *Conn) windowBound() uint32 {
	most := c.out.cfg.maxHeld() / 4 / int64(max(c.streams.open(), 1))
	return uint32(min(most, flow.MaxBDPWindow))
}

// boundWindows lowers the windows of the streams to windowBound, if they have grown, and if so many
// streams were opened since that all windows together are more than twice as much as windowBound
// allows.
func (c *Conn) boundWindows() {
	now := c.windows.Announced()
	if now > c.out.cfg.streamWindow() && int64(now)*int64(c.streams.open()) > c.out.cfg.maxHeld()/2 {
		c.lowerWindows(c.windowBound())
	}
}

// lowerWindows makes n the receive window of every stream, but never less than Config.StreamWindow.
func (c *Conn) lowerWindows(n uint32) {
	if n = max(n, c.out.cfg.streamWindow()); n < c.windows.Announced() {
		c.windows.Lower(n)
		c.out.settings(frame.Setting{ID: frame.InitialWindowSize, Value: n})
	}
}

// OnGoAway handles the peer's GOAWAY: we open no new streams. lost are the streams that the peer will
// not process. The driver calls LostStream for each of them.
func (c *Conn) OnGoAway(h frame.Header, p []byte) (f frame.GoAwayFrame, lost []*Stream, err error) {
	if f, err = frame.ParseGoAway(h, p); err == nil {
		f.Debug = f.Debug[:min(len(f.Debug), maxComplaint)]
		lost, err = c.peerLeaves(f)
	}
	return f, lost, err
}

// LostStream ends s, which the peer will not process, and returns what to tell its Receiver; nil if s
// is over already.
func (c *Conn) LostStream(s *Stream) *StreamError {
	if c.streams.get(s.id) != s {
		return nil
	}
	c.abandon(s, lose)
	return &StreamError{Code: frame.RefusedStream, Reason: "the peer went away", Remote: true, Unprocessed: true}
}

// ResetByRule resets the stream that fe names, whether or not it still exists. If it exists,
// ResetByRule returns it and what to tell its Receiver.
func (c *Conn) ResetByRule(in *Intake, fe frame.Error) (*Stream, *StreamError, error) {
	s := c.streams.get(fe.StreamID)
	if s == nil && c.streams.unopened(fe.StreamID) {
		// "RST_STREAM frames MUST NOT be sent for a stream in the 'idle'
		// state", section 6.4.
		return nil, nil, &ConnError{Code: fe.Code, Reason: fe.Reason}
	}
	c.out.reset(fe.StreamID, fe.Code)
	c.out.replies++
	in.Induced = true
	if s == nil {
		return nil, nil, asConnError(in.Useless())
	}
	c.abandon(s, sendReset)
	return s, &StreamError{Code: fe.Code, Reason: fe.Reason}, nil
}

// Fault is ResetByRule for s. err is the objection of the stream's Receiver, or the rule of HTTP/2 that
// the peer broke.
func (c *Conn) Fault(in *Intake, s *Stream, err error) (*Stream, *StreamError, error) {
	if c.streams.get(s.id) != s {
		return nil, nil, nil // it is over already
	}
	fe := FaultOf(err)
	fe.StreamID = s.id
	return c.ResetByRule(in, fe)
}

// Late records a frame for a stream that is over, which the peer may have sent before it knew that.
// When one side ends a stream, a few frames of the other may be on their way. So the streams that were
// opened since the last call pay for such frames. Frames beyond that are useless. A stream that a
// server refused pays for one frame only: a peer can have as many streams refused as it likes.
func (c *Conn) Late(in *Intake) error {
	if c.streams.side == Client {
		used := c.streams.nextLocal
		in.flood.earn(usefulEarns * min(int(used-in.paid)/2, FloodLimit))
		in.paid = used
	} else {
		in.flood.earn(int(in.paid))
		in.paid = 0
	}
	return in.Useless()
}

// asConnError turns a frame.Error into the ConnError that ends the connection.
func asConnError(err error) error {
	var fe frame.Error
	if errors.As(err, &fe) {
		return &ConnError{Code: fe.Code, Reason: fe.Reason}
	}
	return err
}

// FaultOf returns a Receiver's error as an error of HTTP/2.
func FaultOf(err error) frame.Error {
	var fe frame.Error
	if !errors.As(err, &fe) {
		fe = frame.Error{Code: frame.Cancel, Reason: err.Error()}
	}
	return fe
}

// IsStreamError reports whether err ends a stream, and not the connection.
func IsStreamError(err error) bool {
	var fe frame.Error
	return errors.As(err, &fe) && !fe.IsConn()
}
