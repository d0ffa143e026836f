// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

func (c *Conn) onReset(h frame.Header, p []byte) error {
	code, err := frame.ParseRSTStream(h, p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	s := c.table.get(h.StreamID)
	if s == nil {
		idle := c.table.idle(h.StreamID, c.side)
		c.mu.Unlock()
		if idle {
			return frame.ConnError(frame.ProtocolError, "RST_STREAM on an idle stream")
		}
		return c.late()
	}
	s.state, _ = s.state.next(recvReset)
	c.finish(s)
	c.mu.Unlock()
	s.recv.OnAbort(&StreamError{Code: code, Remote: true, Unprocessed: code == frame.RefusedStream})
	return nil
}

func (c *Conn) onWindowUpdate(h frame.Header, p []byte) error {
	inc, err := frame.ParseWindowUpdate(h, p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	if h.StreamID == 0 {
		defer c.mu.Unlock()
		if err := c.outflow.Add(inc); err != nil {
			return frame.ConnError(frame.FlowControlError, err.Error())
		}
		return nil
	}
	s := c.table.get(h.StreamID)
	if s == nil {
		idle := c.table.idle(h.StreamID, c.side)
		c.mu.Unlock()
		if idle {
			return frame.ConnError(frame.ProtocolError, "WINDOW_UPDATE on an idle stream")
		}
		return c.late()
	}
	defer c.mu.Unlock()
	if err := s.out.Add(inc); err != nil {
		return frame.StreamError(h.StreamID, frame.FlowControlError, err.Error())
	}
	if s.pending != nil && s.out.Window() > 0 {
		c.sched.add(s)
	}
	return nil
}

// late records a frame for a stream that is over. A few of these are on their
// way whenever one side ends a stream before the other knows, so the streams
// opened since the last one pay for it. mu is not held.
func (c *Conn) late() error {
	c.mu.Lock()
	opened := c.table.nextLocal + c.table.lastPeer
	c.mu.Unlock()
	c.act.nonsense.earn(int(opened-c.act.opened) / 2)
	c.act.opened = opened
	return c.useless()
}

// streamFault ends s for what its Receiver found wrong, or a rule of HTTP/2.
func (c *Conn) streamFault(s *Stream, err error) error {
	fe := faultOf(err)
	fe.StreamID = s.id
	c.mu.Lock()
	gone := c.table.get(s.id) != s
	c.mu.Unlock()
	if gone {
		return nil // the fault was with what nobody wants any more
	}
	return c.resetByRule(fe)
}

// faultOf is a Receiver's error as one of HTTP/2.
func faultOf(err error) frame.Error {
	var fe frame.Error
	if !errors.As(err, &fe) {
		fe = frame.Error{Code: frame.Cancel, Reason: err.Error()}
	}
	return fe
}

// resetByRule resets the stream that fe names, whether or not it still exists.
func (c *Conn) resetByRule(fe frame.Error) error {
	c.mu.Lock()
	s := c.table.get(fe.StreamID)
	if s == nil && c.table.idle(fe.StreamID, c.side) {
		// "RST_STREAM frames MUST NOT be sent for a stream in the 'idle'
		// state", section 6.4.
		c.mu.Unlock()
		return c.violation(frame.ConnError(fe.Code, fe.Reason))
	}
	c.appendReset(fe.StreamID, fe.Code)
	c.replies++
	c.act.caused = true
	if s == nil {
		c.mu.Unlock()
		return c.violation(c.useless())
	}
	c.finish(s)
	c.mu.Unlock()
	s.recv.OnAbort(&StreamError{Code: fe.Code, Reason: fe.Reason})
	return nil
}
