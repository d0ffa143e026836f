// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// onData moves the payload of a DATA frame, still unread, to its stream.
func (r *reader) onData(h frame.Header) error {
	s, kind, err := r.receive(h)
	if err != nil {
		if isStreamError(err) {
			if serr := r.skip(int(h.Length)); serr != nil {
				return serr
			}
		}
		return err
	}
	data, pad, err := r.readPadding(h)
	if err != nil {
		return err
	}
	if s == nil { // a stream that is over: ours to ignore
		if err := r.skip(int(data + pad)); err != nil || data > 0 {
			// How much of it there can be is for the windows to say: a peer
			// may have thousands of small messages on their way when we end
			// a stream.
			return err
		}
		return r.late()
	}
	fault, err := r.fillBody(s, int(data))
	if err == nil {
		err = r.skip(int(pad))
	}
	if err != nil {
		return err
	}
	if kind != endedNot { // the end was noted when the frame was
		if fault == nil {
			r.in.act.nonsense.useful()
			fault = s.recv.OnEnd()
		}
		return r.remoteEnded(s, kind, fault)
	}
	if fault != nil {
		return r.streamFault(s, fault)
	}
	end := h.Flags.Has(frame.FlagEndStream)
	if extra := h.Length - data; extra > 0 && !end {
		r.giveBack(s, extra)
	}
	if data == 0 && !end {
		return r.in.act.useless()
	}
	r.in.act.nonsense.useful()
	if end {
		kind := r.endRemote(s)
		return r.remoteEnded(s, kind, s.recv.OnEnd())
	}
	return nil
}

// receive counts a DATA frame against the windows and finds its stream: nil for
// one that is over. Of a frame that ends its stream and lies in the buffer, as most do, kind
// is what that end made of the stream, so that the lock is taken once.
func (r *reader) receive(h frame.Header) (s *stream, kind endKind, err error) {
	c := r.lock()
	defer c.unlock()
	r.enter(c)
	r.in.act.credit = c.account.ahead()
	c.out.reader = waiting
	if r.in.act.rd.Buffered() > int(h.Length) {
		c.out.reader = working
	}
	if err := r.count(c, h.Length); err != nil {
		return nil, endedNot, err
	}
	r.sample(c, h.Length)
	s = c.streams.get(h.StreamID)
	if s == nil {
		if c.streams.unopened(h.StreamID) {
			return nil, endedNot, frame.ConnError(frame.ProtocolError, "DATA on an idle stream")
		}
		return nil, endedNot, c.streams.checkClosed(h.StreamID)
	}
	// "If a DATA frame is received whose stream is not in the 'open' or
	// 'half-closed (local)' state, the recipient MUST respond with a stream
	// error of type STREAM_CLOSED", section 6.1.
	if !s.on(recvData) {
		return nil, endedNot, frame.StreamError(h.StreamID, frame.StreamClosed, "DATA after END_STREAM")
	}
	if err := s.in.Receive(h.Length); err != nil {
		return nil, endedNot, frame.StreamError(h.StreamID, frame.FlowControlError, err.Error())
	}
	if r.holdsLast(h) {
		return s, r.ended(c, s), nil
	}
	if inc := s.consume(0); inc > 0 {
		c.out.windowUpdate(s.id, inc)
		r.in.act.caused = true
	}
	return s, endedNot, nil
}

// holdsLast reports whether the payload of a DATA frame that ends its stream lies in the buffer,
// and is nothing but data.
func (r *reader) holdsLast(h frame.Header) bool {
	return h.Flags.Has(frame.FlagEndStream) && !h.Flags.Has(frame.FlagPadded) &&
		r.in.act.rd.Buffered() >= int(h.Length)
}

// count counts n bytes of DATA against the connection's window. It holds c.
func (r *reader) count(c *locked, n uint32) error {
	inc, err := c.windows.Arrived(n)
	if err != nil {
		return frame.ConnError(frame.FlowControlError, err.Error())
	}
	c.account.arrived(n)
	if inc > 0 {
		c.update(inc)
		r.in.act.caused = true
	}
	return nil
}

// sample counts n bytes of DATA for the estimate of the path. It holds c.
func (r *reader) sample(c *locked, n uint32) {
	if c.out.cfg.StaticWindow {
		return
	}
	t := &c.streams
	ping, window := c.windows.Sample(n, t.open(), uint64(t.nextLocal)+uint64(t.lastPeer), time.Duration(clock.At(r.in.act.now)))
	if ping {
		c.out.ping(bdpPing)
	}
	if window > 0 {
		c.growWindows(window)
	}
	c.boundWindows()
}

// skipData is for a DATA frame whose header breaks a rule: it counts all the same.
func (r *reader) skipData(n uint32) error {
	c := r.lock()
	defer c.unlock()
	return r.count(c, n)
}

// readPadding reads the pad length, where there is one, and divides the payload.
func (r *reader) readPadding(h frame.Header) (data, pad uint32, err error) {
	var padLen byte
	if h.Flags.Has(frame.FlagPadded) {
		b, err := r.await(1)
		if err != nil {
			return 0, 0, unexpectedEOF(err)
		}
		padLen = b[0]
		r.in.act.rd.Discard(1)
	}
	return frame.DataPadding(h, padLen)
}

// giveBack lets the peer send n bytes more, in place of padding.
func (r *reader) giveBack(s *stream, n uint32) {
	c := r.lock()
	defer c.unlock()
	if s.state.canRecv() && !c.life.dead() {
		c.out.windowUpdate(s.id, s.consume(n))
		r.in.act.caused = true
	}
}

// fillBody hands n bytes to the stream. fault is the stream's objection; the rest is then
// skipped. What the stream holds for it is charged later.
func (r *reader) fillBody(s *stream, n int) (fault, err error) {
	a := r.in.act
	for n > 0 {
		var grew int
		k := min(a.rd.Buffered(), n)
		if k > 0 {
			p, _ := a.rd.Peek(k) // no more than is there
			grew, fault = s.recv.Take(p, max(2*k, a.credit))
			a.rd.Discard(k)
		} else if k, grew, fault, err = r.readInto(s, n); err != nil {
			return nil, unexpectedEOF(err)
		}
		a.ledger.stream = s
		a.ledger.body += grew
		n -= k
		if fault != nil {
			return fault, r.skip(n)
		}
	}
	return nil, nil
}

// readInto reads the next of n bytes, of which none has arrived, to where the stream wants
// them; k of 0 is none yet.
func (r *reader) readInto(s *stream, n int) (k, grew int, fault, err error) {
	r.endBatch()
	p := s.recv.Space(n, r.in.act.credit)
	if len(p) == 0 {
		_, err = r.await(1)
		return 0, 0, nil, err
	}
	k, err = r.in.act.rd.Read(p)
	grew, fault = s.recv.Filled(k)
	r.resume()
	if err != nil && r.wasQuiet(err) {
		err = nil
	}
	return k, grew, fault, err
}

// endKind is what the peer's END_STREAM made of a stream.
type endKind uint8

const (
	endedNot   endKind = iota // it is not known to have come
	endedHalf                 // our side goes on, or was gone before
	endedBoth                 // it is over, and forgotten
	endedEarly                // it is over for us; giveUp follows once the Receiver was told
)

// endRemote follows the peer's END_STREAM on s.
func (r *reader) endRemote(s *stream) endKind {
	c := r.lock()
	defer c.unlock()
	r.enter(c)
	return r.ended(c, s)
}

// ended is endRemote for who holds the lock.
func (r *reader) ended(c *locked, s *stream) endKind {
	if !s.on(recvEnd) {
		return endedHalf
	}
	switch {
	case s.state == stateClosed:
		c.forget(s)
		return endedBoth
	case c.streams.side.stopsAtEnd():
		s.on(sendReset) // nothing is sent from here on; giveUp says so
		c.streams.stop(s, c.out.cfg.Pool)
		return endedEarly
	}
	return endedHalf
}

// giveUp forgets s, which the peer has ended before we did, and tells it that
// the rest will not come.
func (r *reader) giveUp(s *stream) {
	c := r.lock()
	c.out.reset(s.id, frame.NoError)
	c.forget(s)
	c.unlock()
}

// remoteEnded follows what the Receiver says to the end of s.
func (r *reader) remoteEnded(s *stream, kind endKind, err error) error {
	switch {
	case err != nil && kind == endedBoth:
		// There is no stream left to reset, but its Receiver doesn't know.
		fe := faultOf(err)
		s.recv.OnAbort(&StreamError{Code: fe.Code, Reason: fe.Reason})
	case err != nil:
		return r.streamFault(s, err)
	case kind == endedEarly:
		r.giveUp(s)
	}
	return nil
}
