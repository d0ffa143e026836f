// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"io"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// reader is the connection as the task that reads it.
type reader Conn

// Run implements warm.Task: it reads until the connection ends or is parked.
func (r *reader) Run() {
	c := (*Conn)(r)
	c.activate()
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
		if err := c.readFrame(); err != nil {
			if err == errParked {
				return err
			}
			if err = c.violation(err); err != nil {
				return err
			}
		}
		if c.act.broke {
			if err := c.bankruptcy(); err != nil {
				return c.violation(err)
			}
		}
		if c.act.caused {
			c.act.caused = false
			if c.overBudget(false) {
				if err := c.waitForBudget(0); err != nil {
					return err
				}
			}
		}
	}
}

// await is Peek, which ends the batch before it waits.
func (c *Conn) await(n int) ([]byte, error) {
	for {
		if c.act.rd.Buffered() < n {
			c.endBatch()
		}
		b, err := c.act.rd.Peek(n)
		if err == nil {
			c.resume()
			return b, nil
		}
		if !c.wasQuiet(err) {
			return nil, err
		}
	}
}

// resume begins a batch, if there is none: everything that is done from here on
// is sent at its end at the latest. It follows each wait.
func (c *Conn) resume() {
	if !c.act.batch {
		c.act.batch = true
		c.stampRead()
	}
}

// endBatch runs when everything read so far has been dealt with and the reader
// is about to wait: it lets go of what it held back for the sake of batching.
func (c *Conn) endBatch() {
	if !c.act.batch {
		return
	}
	c.act.batch = false
	c.handler.BatchEnd()
	c.mu.Lock()
	c.enter()
	c.account.records = 0
	c.show()
	if c.mute {
		c.dropOutput()
	}
	if c.writing || !c.sendable() {
		c.mu.Unlock()
		return
	}
	c.writing = true
	bulk := !c.sched.empty()
	c.mu.Unlock()
	if bulk {
		// A lot to write: not at the expense of reading.
		c.handOver(flusher{})
		return
	}
	c.flush()
}

func (c *Conn) readFrame() error {
	b, err := c.awaitHeader()
	if err != nil {
		return err
	}
	h := frame.ParseHeader(b)
	if err := c.checkSequence(h); err != nil {
		return err
	}
	if err := h.Check(c.cfg.maxFrame()); err != nil {
		return c.skipFaulty(h, err)
	}
	if h.Type == frame.Data {
		c.act.rd.Discard(frame.HeaderLen)
		return c.onData(h)
	}
	if h.Type > frame.Continuation {
		// "Implementations MUST ignore and discard frames of unknown types",
		// section 4.1.
		return errors.Join(c.useless(), c.skip(frame.HeaderLen+int(h.Length)))
	}
	if h.Length > frame.MinMaxFrameSize {
		return c.dispatchLarge(h)
	}
	b, err = c.await(frame.HeaderLen + int(h.Length))
	if err != nil {
		return err
	}
	err = c.dispatch(h, b[frame.HeaderLen:])
	c.act.rd.Discard(frame.HeaderLen + int(h.Length))
	return err
}

// dispatchLarge takes a frame, other than DATA, that need not fit the read
// buffer. It is gathered as it arrives.
func (c *Conn) dispatchLarge(h frame.Header) error {
	c.act.rd.Discard(frame.HeaderLen)
	p := &c.act.large
	defer func() {
		p.drop(c.cfg.Pool)
		c.act.ledger.note(p)
	}()
	for left := int(h.Length); left > 0; {
		b, err := c.await(min(left, frame.MinMaxFrameSize))
		if err != nil {
			return unexpectedEOF(err)
		}
		p.add(b, c.cfg.Pool)
		c.act.ledger.note(p)
		left -= len(b)
		c.act.rd.Discard(len(b))
	}
	return c.dispatch(h, p.join(c.cfg.Pool))
}

// checkSequence applies the rules about which frame may come next.
func (c *Conn) checkSequence(h frame.Header) error {
	if !c.gotPreface && (h.Type != frame.Settings || h.Flags.Has(frame.FlagAck)) {
		if h.LooksLikeHTTP1() {
			return frame.ConnError(frame.ProtocolError, "failed reading the frame payload: http2: frame too large, note that the frame header looked like an HTTP/1.1 header")
		}
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
	if !errors.As(fault, &fe) || fe.IsConn() {
		return fault
	}
	if h.Type == frame.Data {
		if err := c.countData(h.Length); err != nil {
			return err
		}
	}
	if err := c.skip(frame.HeaderLen + int(h.Length)); err != nil {
		return err
	}
	return fault
}

// skip drops the next n bytes.
func (c *Conn) skip(n int) error {
	for n > 0 {
		if c.act.rd.Buffered() < n {
			c.endBatch()
		}
		k, err := c.act.rd.Discard(n)
		c.resume()
		n -= k
		if err != nil && !c.wasQuiet(err) {
			return unexpectedEOF(err)
		}
	}
	return nil
}

func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
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
		return c.onPing(h, p)
	case frame.GoAway:
		return errors.Join(c.useless(), c.onGoAway(h, p))
	case frame.WindowUpdate:
		return c.onWindowUpdate(h, p)
	case frame.Priority:
		_, err := frame.ParsePriority(h, p)
		return errors.Join(c.useless(), err)
	default: // PUSH_PROMISE, which Header.Check has refused
		return frame.ParsePushPromise(h, p)
	}
}
