// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/frame"

// endLocal records that we have sent END_STREAM on s.
func (c *Conn) endLocal(s *Stream) {
	s.on(sendEnd)
	switch {
	case s.state == stateClosed:
		c.forget(s)
	case c.streams.side.resetsUnread():
		c.reset(s, frame.NoError)
	}
}

// reset ends s on both sides at once, and queues RST_STREAM.
func (c *Conn) reset(s *Stream, code frame.ErrCode) {
	c.out.reset(s.id, code)
	c.abandon(s, sendReset)
}

// abandon ends s on both sides at once, without a frame. ev is the reason.
func (c *Conn) abandon(s *Stream, ev streamEvent) {
	if s.state.canRecv() {
		c.streams.cutOff.grow(s.id)
	}
	s.on(ev)
	c.forget(s)
}

// forget takes s, which is over on both sides, out of the table. It settles the account for s, unless
// the handler of s still runs: then HandlerDone does so.
func (c *Conn) forget(s *Stream) {
	c.streams.stop(s, c.out.cfg.Pool)
	c.ease()
	if !c.streams.remove(s) {
		return
	}
	if s.opener != c.streams.side && !s.handled {
		s.counted = true
		c.streams.handlers.outlives()
	} else {
		c.account.settle(s)
	}
	if s.opener != c.streams.side {
		c.wakeReader() // there may be a place for another stream now
	}
	if c.streams.open() == 0 {
		c.lastStreamGone()
	}
}

// lastStreamGone is called when the last open stream is out of the table.
func (c *Conn) lastStreamGone() {
	c.todo |= LastIsOver
	if c.out.reader == readerAway {
		c.streams.trim()
	}
	c.Finish()
}
