// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

func (r *reader) onReset(h frame.Header, p []byte) error {
	code, err := frame.ParseRSTStream(h, p)
	if err != nil {
		return err
	}
	c := r.lock()
	s := c.streams.get(h.StreamID)
	if s == nil {
		unopened := c.streams.unopened(h.StreamID)
		c.unlock()
		if unopened {
			return frame.ConnError(frame.ProtocolError, "RST_STREAM on an idle stream")
		}
		return r.late()
	}
	s.on(recvReset)
	c.forget(s)
	c.unlock()
	s.recv.OnAbort(&StreamError{Code: code, Remote: true, Unprocessed: code == frame.RefusedStream})
	return nil
}

func (r *reader) onWindowUpdate(h frame.Header, p []byte) error {
	inc, err := frame.ParseWindowUpdate(h, p)
	if err != nil {
		return err
	}
	c := r.lock()
	if h.StreamID == 0 {
		defer c.unlock()
		if err := c.windows.Send().Add(inc); err != nil {
			return frame.ConnError(frame.FlowControlError, err.Error())
		}
		return nil
	}
	s := c.streams.get(h.StreamID)
	if s == nil {
		unopened := c.streams.unopened(h.StreamID)
		c.unlock()
		if unopened {
			return frame.ConnError(frame.ProtocolError, "WINDOW_UPDATE on an idle stream")
		}
		return r.late()
	}
	defer c.unlock()
	if err := s.out.Add(inc); err != nil {
		return frame.StreamError(h.StreamID, frame.FlowControlError, err.Error())
	}
	c.streams.schedule(s)
	return nil
}

func (r *reader) onPing(h frame.Header, p []byte) error {
	data, err := frame.ParsePing(h, p)
	if err != nil {
		return err
	}
	if h.Flags.Has(frame.FlagAck) {
		r.onPingAck(data)
		return r.in.act.useless()
	}
	c := r.lock()
	c.out.pong(data)
	r.in.act.caused = true
	streams, sent := c.streams.open(), c.heart.worked
	c.heart.worked = false
	c.unlock()
	if err := r.handler.PingReceived(streams, sent); err != nil || sent {
		return err // a peer that is being sent to may measure the path
	}
	return r.in.act.useless()
}

// onPingAck takes the answer to a PING of ours. One to keepalive's is input like any other.
func (r *reader) onPingAck(data [8]byte) {
	c := r.lock()
	defer c.unlock()
	switch data {
	case bdpPing:
		n, changed := c.windows.Answered(time.Duration(clock.Now()))
		if changed && n < c.windows.Announced() {
			c.lowerWindows(n)
			return
		}
		c.growWindows(n) // also where nothing changed: streams may have ended that kept windows small
		c.out.windowUpdate(0, c.windows.Owed())
	case drainPing:
		if c.life.drain == announced {
			time.AfterFunc(drainGrace, (*Conn)(r).drainLate)
		}
	}
}

// growWindows makes n the receive window of the connection and of every stream, as the
// estimator found that the path can carry it. Those of the streams are kept within windowBound: a peer
// that keeps to its windows, where nobody reads, must not come near the bound on what it makes us hold.
// The connection's is given back as DATA arrives, read or not, so it makes nobody hold anything.
func (c *locked) growWindows(n uint32) {
	most := c.windowBound()
	if uint64(most)*4 < uint64(c.windows.Announced())*5 {
		most = 0 // not worth SETTINGS: with each stream that comes or goes there would be some
	}
	inc, grown := c.windows.Grow(n, most, c.streams.receiveWindows())
	if grown {
		c.out.settings(frame.Setting{ID: frame.InitialWindowSize, Value: c.windows.Announced()})
	}
	c.out.windowUpdate(0, inc)
}

// windowBound is how far the windows of streams may grow: all open ones together to a quarter of what
// the account's bound allows for, so that twice as many may be open before they are lowered.
func (c *locked) windowBound() uint32 {
	most := c.out.cfg.maxHeld() / 4 / int64(max(c.streams.open(), 1))
	return uint32(min(most, flow.MaxBDPWindow))
}

// boundWindows takes back what the windows have grown by where so many streams have been opened since
// that they are past twice windowBound.
func (c *locked) boundWindows() {
	now := c.windows.Announced()
	if now > c.out.cfg.streamWindow() && int64(now)*int64(c.streams.open()) > c.out.cfg.maxHeld()/2 {
		c.lowerWindows(c.windowBound())
	}
}

// lowerWindows makes n the receive window of every stream, but no less than what streams began with.
func (c *locked) lowerWindows(n uint32) {
	if n = max(n, c.out.cfg.streamWindow()); n < c.windows.Announced() {
		c.windows.Lower(n)
		c.out.settings(frame.Setting{ID: frame.InitialWindowSize, Value: n})
	}
}

// onGoAway obeys the peer's GOAWAY: no new streams, and those that it will not
// look at are over.
func (r *reader) onGoAway(h frame.Header, p []byte) error {
	f, err := frame.ParseGoAway(h, p)
	if err != nil {
		return err
	}
	c := r.lock()
	lost, err := c.peerLeaves(f)
	c.unlock()
	if err != nil {
		return err
	}
	r.handler.GoAway(f.Code, f.Debug)
	for _, s := range lost {
		c := r.lock()
		gone := c.streams.get(s.id) != s
		if !gone {
			c.abandon(s, lose)
		}
		c.unlock()
		if !gone {
			s.recv.OnAbort(&StreamError{Code: frame.RefusedStream, Reason: "the peer went away", Remote: true, Unprocessed: true})
		}
	}
	c = r.lock()
	c.finish()
	c.unlock()
	return nil
}
