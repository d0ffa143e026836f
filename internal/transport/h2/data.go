// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// onData passes the payload of a DATA frame, which is still unread, to its stream.
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
	if s == nil { // the stream is over: we ignore the frame
		if err := r.skip(int(data + pad)); err != nil || data > 0 {
			// The windows limit how much of this there can be: a peer may have thousands of small
			// messages on their way when we end a stream.
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
	if kind != protocol.EndedNot { // OnData has handled the end of the stream already
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
		// Padding has used up window for which the Receiver may wait. That nothing has arrived too early
		// is no fault.
		grew, _ := s.Receiver().Take([]byte{}, 1, 0)
		r.in.act.NoteBody(s, grew)
		return r.in.act.Useless()
	}
	r.in.act.Useful()
	if end {
		kind := r.endRemote(s)
		return r.remoteEnded(s, kind, s.Receiver().OnEnd())
	}
	return nil
}

// receive counts a DATA frame, unless countNext has counted it, and returns its stream: see
// core.OnData.
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

// skipData counts a DATA frame whose header breaks a rule: it uses up the connection's window like any
// other.
func (r *reader) skipData(n uint32) error {
	c := r.lock()
	defer c.unlock()
	return c.core.Count(&r.in.act.Intake, n)
}

// readPadding reads the pad length, if there is one, and returns the lengths of the data and of the
// padding.
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

// giveBack lets the peer send n more bytes, to make up for padding.
func (r *reader) giveBack(s *protocol.Stream, n uint32) {
	c := r.lock()
	defer c.unlock()
	c.core.GiveBack(&r.in.act.Intake, s, n)
}

// fillBody passes the next n bytes to the stream. fault is an objection of the stream; the rest of the
// bytes is then skipped. The account is charged later for what the stream holds.
func (r *reader) fillBody(s *protocol.Stream, n int) (fault, err error) {
	a := r.in.act
	for n > 0 {
		var grew int
		k := min(a.rd.Buffered(), n)
		if k > 0 {
			p, _ := a.rd.Peek(k) // k bytes are buffered: Peek does not wait
			grew, fault = s.Receiver().Take(p, max(2*k, a.Ahead()), n-k)
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

// readInto reads some of the next n bytes, none of which has arrived, to where the stream wants them. A
// k of 0 means that none was read yet.
func (r *reader) readInto(s *protocol.Stream, n int) (k, grew int, fault, err error) {
	p := s.Receiver().Space(n, r.in.act.Ahead()) // first: it says what is still to come of the frame
	r.endBatch()
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

// endRemote handles the peer's END_STREAM on s.
func (r *reader) endRemote(s *protocol.Stream) protocol.EndKind {
	c := r.lock()
	defer c.unlock()
	return c.core.EndRemote(&r.in.act.Intake, s)
}

// giveUp forgets s, which the peer has ended before we did, and tells the peer that the rest will not
// come.
func (r *reader) giveUp(s *protocol.Stream) {
	c := r.lock()
	defer c.unlock()
	c.core.GiveUp(s)
}

// remoteEnded is called after the Receiver was told that the peer has ended s. err is the Receiver's
// objection. kind says what the end has done to s.
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
