// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// onData moves the payload of a DATA frame, still unread, to its stream.
func (r *reader) onData(h frame.Header) error {
	s, kind, err := r.receive(h)
	if err != nil {
		if protocol.IsStreamError(err) {
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
		c := r.lock()
		defer c.unlock()
		return c.core.Late(&r.in.act.Intake)
	}
	fault, err := r.fillBody(s, int(data))
	if err == nil {
		err = r.skip(int(pad))
	}
	if err != nil {
		return err
	}
	if kind != protocol.EndedNot { // the end was noted when the frame was
		if fault == nil {
			r.in.act.Useful()
			fault = s.Receiver().OnEnd()
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
		return r.in.act.Useless()
	}
	r.in.act.Useful()
	if end {
		kind := r.endRemote(s)
		return r.remoteEnded(s, kind, s.Receiver().OnEnd())
	}
	return nil
}

// receive counts a DATA frame, unless countNext has, and finds its stream: see core.OnData.
func (r *reader) receive(h frame.Header) (s *protocol.Stream, kind protocol.EndKind, err error) {
	a := r.in.act
	if k := a.counted; k.is {
		a.counted = counted{}
		return k.s, k.kind, k.err
	}
	buffered := a.rd.Buffered()
	c := r.lock()
	defer c.unlock()
	c.readerHas(buffered - int(h.Length))
	s, kind, err = c.core.OnData(&a.Intake, h, buffered)
	r.checkEnd(c)
	return s, kind, err
}

// skipData is for a DATA frame whose header breaks a rule: it counts all the same.
func (r *reader) skipData(n uint32) error {
	c := r.lock()
	defer c.unlock()
	return c.core.Count(&r.in.act.Intake, n)
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
func (r *reader) giveBack(s *protocol.Stream, n uint32) {
	c := r.lock()
	defer c.unlock()
	c.core.GiveBack(&r.in.act.Intake, s, n)
}

// fillBody hands n bytes to the stream. fault is the stream's objection; the rest is then
// skipped. What the stream holds for it is charged later.
func (r *reader) fillBody(s *protocol.Stream, n int) (fault, err error) {
	a := r.in.act
	for n > 0 {
		var grew int
		k := min(a.rd.Buffered(), n)
		if k > 0 {
			p, _ := a.rd.Peek(k) // no more than is there
			grew, fault = s.Receiver().Take(p, max(2*k, a.Ahead()))
			a.rd.Discard(k)
		} else if k, grew, fault, err = r.readInto(s, n); err != nil {
			return nil, unexpectedEOF(err)
		}
		a.NoteBody(s, grew)
		n -= k
		if fault != nil {
			return fault, r.skip(n)
		}
	}
	return nil, nil
}

// readInto reads the next of n bytes, of which none has arrived, to where the stream wants
// them; k of 0 is none yet.
func (r *reader) readInto(s *protocol.Stream, n int) (k, grew int, fault, err error) {
	r.endBatch()
	p := s.Receiver().Space(n, r.in.act.Ahead())
	if len(p) == 0 {
		_, err = r.await(1)
		return 0, 0, nil, err
	}
	k, err = r.in.act.rd.Read(p)
	grew, fault = s.Receiver().Filled(k)
	r.resume()
	if err != nil && r.wasQuiet(err) {
		err = nil
	}
	return k, grew, fault, err
}

// endRemote follows the peer's END_STREAM on s.
func (r *reader) endRemote(s *protocol.Stream) protocol.EndKind {
	c := r.lock()
	defer c.unlock()
	return c.core.EndRemote(&r.in.act.Intake, s)
}

// giveUp forgets s, which the peer has ended before we did, and tells it that
// the rest will not come.
func (r *reader) giveUp(s *protocol.Stream) {
	c := r.lock()
	defer c.unlock()
	c.core.GiveUp(s)
}

// remoteEnded acts on what the Receiver returned when it was told that the peer ended s; err is its objection.
func (r *reader) remoteEnded(s *protocol.Stream, kind protocol.EndKind, err error) error {
	switch {
	case err != nil && kind == protocol.EndedBoth:
		// There is no stream left to reset, but its Receiver doesn't know.
		fe := protocol.FaultOf(err)
		s.Receiver().OnAbort(&protocol.StreamError{Code: fe.Code, Reason: fe.Reason})
	case err != nil:
		return r.streamFault(s, err)
	case kind == protocol.EndedEarly:
		r.giveUp(s)
	}
	return nil
}
