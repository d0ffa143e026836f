// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/park"
)

// reader is the connection as the task that reads it.
type reader Conn

// Run implements warm.Task: it reads until the connection ends.
func (r *reader) Run() {
	c := (*Conn)(r)
	c.act = actives.Get().(*active)
	if err := c.read(); err != errParked {
		c.stopReading(err)
	}
}

// read is the frame loop. It returns only with an error.
func (c *Conn) read() error {
	if !c.gotPreface {
		if err := c.readPreface(); err != nil {
			return c.violation(err)
		}
	}
	for {
		err := c.readFrame()
		if err != nil {
			if err == errParked {
				return err
			}
			if err = c.violation(err); err != nil {
				return err
			}
		}
		if c.overBudget() {
			if err := c.waitForBudget(); err != nil {
				return err
			}
		}
	}
}

// await is Peek, which ends the batch before it waits.
func (c *Conn) await(n int) ([]byte, error) {
	for {
		if c.rd.Buffered() < n {
			c.endBatch()
		}
		b, err := c.rd.Peek(n)
		if err == nil || !c.wasQuiet(err) {
			return b, err
		}
	}
}

// endBatch runs when everything read so far has been dealt with and the reader
// is about to wait: it lets go of what it held back for the sake of batching.
func (c *Conn) endBatch() {
	if !c.batch {
		return
	}
	c.batch = false
	c.handler.BatchEnd()
	c.mu.Lock()
	if c.writing || (c.out.empty() && c.sched.empty()) {
		c.mu.Unlock()
		return
	}
	c.writing = true
	bulk := !c.sched.empty()
	c.mu.Unlock()
	if bulk {
		// A lot to write: not at the expense of reading.
		c.handOver(outbuf{}, 0)
		return
	}
	c.flush()
}

func (c *Conn) readFrame() error {
	b, err := c.awaitHeader()
	if err != nil {
		return err
	}
	if !c.batch {
		c.batch = true
		c.stampRead()
	}
	h := frame.ParseHeader(b)
	if err := c.checkSequence(h); err != nil {
		return err
	}
	if err := h.Check(frame.MinMaxFrameSize); err != nil {
		return c.skipFaulty(h, err)
	}
	if h.Type == frame.Data {
		c.rd.Discard(frame.HeaderLen)
		return c.onData(h)
	}
	if h.Type > frame.Continuation {
		// "Implementations MUST ignore and discard frames of unknown types",
		// section 4.1.
		return errors.Join(c.useless(), c.skip(frame.HeaderLen+int(h.Length)))
	}
	b, err = c.await(frame.HeaderLen + int(h.Length))
	if err != nil {
		return err
	}
	err = c.dispatch(h, b[frame.HeaderLen:])
	c.rd.Discard(frame.HeaderLen + int(h.Length))
	return err
}

// checkSequence applies the rules about which frame may come next.
func (c *Conn) checkSequence(h frame.Header) error {
	if !c.gotPreface && (h.Type != frame.Settings || h.Flags.Has(frame.FlagAck)) {
		return frame.ConnError(frame.ProtocolError, "the first frame is not SETTINGS")
	}
	open := c.act.frags.id
	// "Any number of CONTINUATION frames can be sent, as long as the preceding
	// frame is on the same stream", section 6.10; and nothing in between.
	if (open != 0 || h.Type == frame.Continuation) && (h.Type != frame.Continuation || h.StreamID != open) {
		return frame.ConnError(frame.ProtocolError, "field block and CONTINUATION do not follow each other")
	}
	return nil
}

// skipFaulty drops the payload of a frame whose header breaks a rule, if the
// connection survives it.
func (c *Conn) skipFaulty(h frame.Header, fault error) error {
	var fe frame.Error
	if errors.As(fault, &fe) && !fe.IsConn() {
		if err := c.skip(frame.HeaderLen + int(h.Length)); err != nil {
			return err
		}
		if h.Type == frame.Data {
			if err := c.creditConn(h.Length, true); err != nil {
				return err
			}
		}
	}
	return fault
}

func (c *Conn) skip(n int) error {
	for {
		k, err := c.rd.Discard(n)
		if n -= k; n == 0 || err == nil {
			return nil
		}
		if !c.wasQuiet(err) {
			return unexpectedEOF(err)
		}
	}
}

func (c *Conn) dispatch(h frame.Header, p []byte) error {
	switch h.Type {
	case frame.Headers:
		return c.onHeaders(h, p)
	case frame.Continuation:
		return c.onContinuation(h, p)
	case frame.RSTStream:
		return c.onReset(h, p)
	case frame.Settings:
		return errors.Join(c.useless(), c.onSettings(h, p))
	case frame.Ping:
		return errors.Join(c.useless(), c.onPing(h, p))
	case frame.GoAway:
		return c.onGoAway(h, p)
	case frame.WindowUpdate:
		return c.onWindowUpdate(h, p)
	case frame.Priority:
		_, err := frame.ParsePriority(h, p)
		return errors.Join(c.useless(), err)
	default: // PUSH_PROMISE, which Header.Check has refused
		return frame.ParsePushPromise(h, p)
	}
}

// onData moves the payload of a DATA frame, still unread, to its stream.
func (c *Conn) onData(h frame.Header) error {
	s, err := c.receive(h)
	var data, pad uint32
	if err == nil || s != nil {
		var padLen byte
		if h.Flags.Has(frame.FlagPadded) {
			b, perr := c.await(1)
			if perr != nil {
				return perr
			}
			padLen = b[0]
			c.rd.Discard(1)
		}
		var perr error
		if data, pad, perr = frame.DataPadding(h, padLen); perr != nil {
			return perr
		}
	}
	if err != nil {
		var fe frame.Error
		if !errors.As(err, &fe) || fe.IsConn() {
			return err
		}
		if serr := c.skip(int(h.Length)); serr != nil {
			return serr
		}
		return errors.Join(err, c.creditConn(h.Length, false))
	}
	if s == nil { // a stream that is over: ours to ignore
		if err := errors.Join(c.useless(), c.skip(int(data+pad))); err != nil {
			return err
		}
		return c.creditConn(h.Length, false)
	}
	fault, err := c.fillBody(s, int(data))
	if err == nil {
		err = c.skip(int(pad))
	}
	if err != nil {
		return err
	}
	if extra := h.Length - data; extra > 0 {
		s.Consume(int(extra))
	}
	if err := c.creditConn(h.Length, false); err != nil {
		return err
	}
	if fault != nil {
		return c.streamFault(s, fault)
	}
	end := h.Flags.Has(frame.FlagEndStream)
	if data == 0 && !end {
		return c.useless()
	}
	c.nonsense.useful()
	if end {
		c.endRemote(s)
		s.recv.OnEnd()
	}
	return nil
}

// receive counts a DATA frame against the windows and finds its stream: nil for
// one that is over.
func (c *Conn) receive(h frame.Header) (*Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.inflow.Receive(h.Length); err != nil {
		return nil, frame.ConnError(frame.FlowControlError, err.Error())
	}
	c.sampleBDP(h.Length)
	s := c.table.get(h.StreamID)
	if s == nil {
		if c.table.idle(h.StreamID, c.side) {
			return nil, frame.ConnError(frame.ProtocolError, "DATA on an idle stream")
		}
		return nil, nil
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

// fillBody reads n bytes to where the stream wants them. fault is the stream's
// objection; the rest is then skipped.
func (c *Conn) fillBody(s *Stream, n int) (fault, err error) {
	for n > 0 {
		if c.rd.Buffered() == 0 {
			c.endBatch()
		}
		k, err := c.rd.Read(s.recv.Space(n))
		if err != nil && !c.wasQuiet(err) {
			s.recv.Filled(0)
			return nil, unexpectedEOF(err)
		}
		n -= k
		if fault := s.recv.Filled(k); fault != nil {
			return fault, c.skip(n)
		}
	}
	return nil, nil
}

func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// creditConn gives the connection's window back at once: a stream that is not
// read must not hold up the others, and is bounded by its own window.
func (c *Conn) creditConn(n uint32, count bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if count {
		if err := c.inflow.Receive(n); err != nil {
			return frame.ConnError(frame.FlowControlError, err.Error())
		}
	}
	if inc := c.inflow.Consume(n); inc > 0 {
		c.appendWindowUpdate(0, inc)
	}
	return nil
}

// endRemote follows the peer's END_STREAM on s.
func (c *Conn) endRemote(s *Stream) {
	c.mu.Lock()
	s.state, _ = s.state.next(recvEnd)
	if s.state == stateClosed {
		c.finish(s)
	}
	c.mu.Unlock()
}

func (c *Conn) onHeaders(h frame.Header, p []byte) error {
	f, err := frame.ParseHeaders(h, p)
	var void frame.Error
	if err != nil && (!errors.As(err, &void) || void.IsConn()) {
		return err
	}
	if f.EndHeaders {
		return c.onBlock(h.StreamID, f.EndStream, f.Fragment, err)
	}
	c.act.frags.begin(h.StreamID, f.EndStream, err)
	return c.act.frags.add(f.Fragment, c.cfg.maxHeaderList())
}

func (c *Conn) onContinuation(h frame.Header, p []byte) error {
	f, err := frame.ParseContinuation(h, p)
	if err != nil {
		return err
	}
	a := &c.act.frags
	if err := a.add(f.Fragment, c.cfg.maxHeaderList()); err != nil || !f.EndHeaders {
		return err
	}
	id := a.id
	a.id = 0
	return c.onBlock(id, a.end, a.buf, a.void)
}

// onBlock takes a whole field block. void is a stream error its frames already
// deserve; the block is decoded all the same, to keep the table in step.
func (c *Conn) onBlock(id uint32, end bool, block []byte, void error) error {
	b, err := c.decode(block)
	if err != nil {
		return err
	}
	c.mu.Lock()
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
		c.mu.Unlock()
		return c.useless() // a stream that is over: in flight when we ended it
	}
	err = c.table.admit(id, c.side)
	full := c.table.peer >= c.table.maxPeer
	c.needPlace = !full && c.zombies > 0
	refuse := c.draining == drained
	c.mu.Unlock()
	switch {
	case err != nil:
		return err
	case void != nil:
		return void
	case refuse:
		return nil // above the last stream that our GOAWAY named
	case full:
		return frame.StreamError(id, frame.RefusedStream, "too many concurrent streams")
	case b.TooLarge():
		return frame.StreamError(id, frame.EnhanceYourCalm, "header list larger than announced")
	}
	if c.overBudget() {
		if err := c.waitForBudget(); err != nil {
			return err
		}
	}
	return c.accept(id, b, end)
}

func (c *Conn) onMoreHeaders(s *Stream, b *HeaderBlock, end bool, void error) error {
	switch {
	case void != nil:
		return c.streamFault(s, void)
	case b.TooLarge():
		return c.streamFault(s, frame.StreamError(s.id, frame.EnhanceYourCalm, "header list larger than announced"))
	}
	c.nonsense.useful()
	if end {
		c.endRemote(s)
	}
	if err := s.recv.OnHeaders(b, end); err != nil {
		return c.streamFault(s, err)
	}
	return nil
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
	c.nonsense.useful()
	c.mu.Lock()
	c.register(s, id, c.side.other())
	s.state = stateOpen
	if end {
		s.state = stateHalfClosedRemote
	}
	c.streamOpened()
	c.mu.Unlock()
	c.handler.Opened(s, end)
	return nil
}

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
		return c.useless()
	}
	c.finish(s)
	if s.opener != c.side {
		s.counted = true
		c.zombies++
	}
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
	defer c.mu.Unlock()
	if h.StreamID == 0 {
		if err := c.outflow.Add(inc); err != nil {
			return frame.ConnError(frame.FlowControlError, err.Error())
		}
		return nil
	}
	s := c.table.get(h.StreamID)
	if s == nil {
		if c.table.idle(h.StreamID, c.side) {
			return frame.ConnError(frame.ProtocolError, "WINDOW_UPDATE on an idle stream")
		}
		return c.useless()
	}
	if err := s.out.Add(inc); err != nil {
		return frame.StreamError(h.StreamID, frame.FlowControlError, err.Error())
	}
	if s.pending != nil && s.out.Window() > 0 {
		c.sched.add(s)
	}
	return nil
}

// streamFault ends s for what its Receiver found wrong, or a rule of HTTP/2.
func (c *Conn) streamFault(s *Stream, err error) error {
	var fe frame.Error
	if !errors.As(err, &fe) {
		fe = frame.Error{Code: frame.Cancel, Reason: err.Error()}
	}
	fe.StreamID = s.id
	return c.resetByRule(fe)
}

// resetByRule resets the stream that fe names, whether or not it still exists.
func (c *Conn) resetByRule(fe frame.Error) error {
	c.mu.Lock()
	s := c.table.get(fe.StreamID)
	if s == nil && c.table.idle(fe.StreamID, c.side) {
		c.mu.Unlock()
		return c.violation(frame.ConnError(fe.Code, fe.Reason))
	}
	c.out.reserve(frame.HeaderLen+4, c.pool)
	c.out.b = frame.AppendRSTStream(c.out.b, fe.StreamID, fe.Code)
	c.replies++
	if s == nil {
		c.mu.Unlock()
		return c.violation(c.useless())
	}
	c.finish(s)
	if s.opener != c.side {
		s.counted = true
		c.zombies++
	}
	c.mu.Unlock()
	s.recv.OnAbort(&StreamError{Code: fe.Code, Reason: fe.Reason})
	return nil
}

// overBudget reports whether the peer has made us hold so much that we had
// better not read on.
func (c *Conn) overBudget() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overBudgetLocked()
}

func (c *Conn) overBudgetLocked() bool {
	return c.replies > maxReplies || c.zombies > maxZombies ||
		c.needPlace && uint64(c.table.peer)+uint64(c.zombies) >= uint64(c.table.maxPeer)
}

// waitForBudget lets what the peer caused drain away before reading goes on.
func (c *Conn) waitForBudget() error {
	c.endBatch()
	for {
		c.mu.Lock()
		if c.dead {
			defer c.mu.Unlock()
			return c.cause
		}
		if c.writeErr != nil {
			defer c.mu.Unlock()
			return c.writeErr
		}
		if !c.overBudgetLocked() {
			c.needPlace = false
			c.mu.Unlock()
			return nil
		}
		if c.wait == nil {
			c.wait = make(chan struct{}, 1)
		}
		c.blocked = true
		w := c.wait
		c.mu.Unlock()
		<-w
	}
}

// wakeReaderLocked ends waitForBudget's wait, so that it looks again.
func (c *Conn) wakeReaderLocked() {
	if c.blocked {
		c.blocked = false
		c.wait <- struct{}{}
	}
}

// stopReading is the end of the reader: it says goodbye where a rule was
// broken, and ends the connection.
func (c *Conn) stopReading(err error) {
	if ce, ok := err.(*ConnError); ok && !ce.Remote {
		c.sayGoAway(ce)
	} else if err != nil {
		err = c.readCause(err)
	}
	c.terminate(err)
	c.mu.Lock()
	if !c.writing || c.writeErr != nil {
		c.out.free(c.pool) // what was added to it since
	}
	c.mu.Unlock()
	park.ProcessSweeper().Remove(&c.idle.entry)
	c.rd.Release()
	c.act.release()
	c.act = nil
}

// readCause is what to tell the streams when reading failed.
func (c *Conn) readCause(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.cause != nil:
		return c.cause
	case c.writeErr != nil:
		return c.writeErr
	}
	var known *IOError
	var ce *ConnError
	if errors.As(err, &known) || errors.As(err, &ce) {
		return err
	}
	return &IOError{Op: "read", Err: err}
}

// sayGoAway tells the peer which rule it broke, and gives it a moment to read
// that before the connection is closed.
func (c *Conn) sayGoAway(ce *ConnError) {
	c.mu.Lock()
	if c.dead || c.writeErr != nil {
		c.mu.Unlock()
		return
	}
	c.out.reserve(256, c.pool)
	c.out.adopt(frame.AppendGoAway(c.out.b, c.table.lastPeer, ce.Code, []byte(ce.Reason)), c.pool)
	done := make(chan struct{})
	c.flushDone = done
	c.leaving = true
	c.nc.SetWriteDeadline(time.Now().Add(lastFlush))
	c.unlockAndFlush()
	<-done
	c.drainSocket()
}

// drainSocket reads what the peer still sends, for a while: closing a socket
// with unread input makes the system discard what we sent last.
func (c *Conn) drainSocket() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	c.mu.Lock()
	c.setReadDeadline(time.Now().Add(lastFlush / 4))
	c.mu.Unlock()
	for left := 1 << 20; left > 0; {
		b, err := c.rd.Peek(1)
		if err != nil {
			return
		}
		n := max(c.rd.Buffered(), len(b))
		left -= n
		c.rd.Discard(n)
	}
}
