// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// onData moves the payload of a DATA frame, still unread, to its stream.
func (c *Conn) onData(h frame.Header) error {
	s, err := c.receive(h)
	if err != nil {
		var fe frame.Error
		if errors.As(err, &fe) && fe.IsConn() {
			return err
		}
		if serr := c.skip(int(h.Length)); serr != nil {
			return serr
		}
		return err
	}
	data, pad, err := c.readPadding(h)
	if err != nil {
		return err
	}
	if s == nil { // a stream that is over: ours to ignore
		if err := c.skip(int(data + pad)); err != nil || data > 0 {
			// How much of it there can be is for the windows to say: a peer
			// may have thousands of small messages on their way when we end
			// a stream.
			return err
		}
		return c.late()
	}
	fault, err := c.fillBody(s, int(data))
	if err == nil {
		err = c.skip(int(pad))
	}
	if err != nil {
		return err
	}
	if fault != nil {
		return c.streamFault(s, fault)
	}
	end := h.Flags.Has(frame.FlagEndStream)
	if extra := h.Length - data; extra > 0 && !end {
		s.Consume(int(extra), 0)
	}
	if data == 0 && !end {
		return c.useless()
	}
	c.act.nonsense.useful()
	if end {
		kind := c.endRemote(s)
		return c.remoteEnded(s, kind, s.recv.OnEnd())
	}
	return nil
}

// remoteEnded follows what the Receiver says to the end of s.
func (c *Conn) remoteEnded(s *Stream, kind endKind, err error) error {
	switch {
	case err != nil && kind == endedBoth:
		// There is no stream left to reset, but its Receiver doesn't know.
		fe := faultOf(err)
		s.recv.OnAbort(&StreamError{Code: fe.Code, Reason: fe.Reason})
	case err != nil:
		return c.streamFault(s, err)
	case kind == endedEarly:
		c.giveUp(s)
	}
	return nil
}

// readPadding reads the pad length, where there is one, and divides the payload.
func (c *Conn) readPadding(h frame.Header) (data, pad uint32, err error) {
	var padLen byte
	if h.Flags.Has(frame.FlagPadded) {
		b, err := c.await(1)
		if err != nil {
			return 0, 0, unexpectedEOF(err)
		}
		padLen = b[0]
		c.act.rd.Discard(1)
	}
	return frame.DataPadding(h, padLen)
}

// receive counts a DATA frame against the windows and finds its stream: nil for
// one that is over.
func (c *Conn) receive(h frame.Header) (*Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enter()
	c.act.credit = c.account.ahead()
	if err := c.countDataLocked(h.Length); err != nil {
		return nil, err
	}
	c.sampleBDP(h.Length)
	s := c.table.get(h.StreamID)
	if s == nil {
		if c.table.idle(h.StreamID, c.side) {
			return nil, frame.ConnError(frame.ProtocolError, "DATA on an idle stream")
		}
		return nil, c.table.checkClosed(h.StreamID)
	}
	// "If a DATA frame is received whose stream is not in the 'open' or
	// 'half-closed (local)' state, the recipient MUST respond with a stream
	// error of type STREAM_CLOSED", section 6.1.
	if _, ok := s.state.next(recvData); !ok {
		return nil, frame.StreamError(h.StreamID, frame.StreamClosed, "DATA after END_STREAM")
	}
	if err := s.in.Receive(h.Length); err != nil {
		return nil, frame.StreamError(h.StreamID, frame.FlowControlError, err.Error())
	}
	return s, nil
}

func (c *Conn) countData(n uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.countDataLocked(n)
}

// countDataLocked counts n bytes against the connection's window, and gives
// them back at once: a stream that is not read must not hold up the others, and
// is bounded by its own window.
func (c *Conn) countDataLocked(n uint32) error {
	if err := c.inflow.Receive(n); err != nil {
		return frame.ConnError(frame.FlowControlError, err.Error())
	}
	c.account.arrived(n)
	if inc := c.inflow.Consume(n); inc > 0 {
		c.appendWindowUpdate(0, inc)
		c.act.caused = true
	}
	return nil
}

// fillBody reads n bytes to where the stream wants them. fault is the stream's
// objection; the rest is then skipped. What the stream holds for it is charged later.
func (c *Conn) fillBody(s *Stream, n int) (fault, err error) {
	for n > 0 {
		arrived := min(c.act.rd.Buffered(), n)
		if arrived == 0 {
			c.endBatch()
		}
		p := s.recv.Space(n, max(2*arrived, c.act.credit))
		if len(p) == 0 {
			if _, err := c.await(1); err != nil {
				return nil, unexpectedEOF(err)
			}
			continue
		}
		k, err := c.act.rd.Read(p)
		grew, fault := s.recv.Filled(k)
		c.act.ledger.stream = s
		c.act.ledger.body += grew
		c.resume()
		if err != nil && !c.wasQuiet(err) {
			return nil, unexpectedEOF(err)
		}
		n -= k
		if fault != nil {
			return fault, c.skip(n)
		}
	}
	return nil, nil
}

// endKind is what the peer's END_STREAM made of a stream.
type endKind uint8

const (
	endedHalf  endKind = iota // our side goes on, or was gone before
	endedBoth                 // it is over, and forgotten
	endedEarly                // it is over for us; giveUp follows once the Receiver was told
)

// endRemote follows the peer's END_STREAM on s.
func (c *Conn) endRemote(s *Stream) endKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enter()
	if s.state == stateClosed {
		return endedHalf
	}
	s.state, _ = s.state.next(recvEnd)
	switch {
	case s.state == stateClosed:
		c.finish(s)
		return endedBoth
	case c.side.stopsAtEnd():
		s.state = stateClosed // nothing is sent from here on
		c.dropPending(s)
		s.signalSpace()
		return endedEarly
	}
	return endedHalf
}

// giveUp forgets s, which the peer has ended before we did, and tells it that
// the rest will not come.
func (c *Conn) giveUp(s *Stream) {
	c.mu.Lock()
	c.appendReset(s.id, frame.NoError)
	c.finish(s)
	c.mu.Unlock()
}
