// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/frame"

// OverBudget reports whether the peer has made us queue so much that nothing more should
// be read before some of it is written; opening says that it wants to open a stream, and
// so to be sent more.
func (c *Conn) OverBudget(opening bool) bool {
	if c.life.mute {
		return false // nothing will be written, so there is nothing to wait for
	}
	return c.out.full(c.streams.open(), opening)
}

// MayOpen returns why we may open no stream, nil if we may.
func (c *Conn) MayOpen() error {
	switch {
	case c.life.dead():
		return c.end.cause
	case !c.life.opens():
		return ErrDraining
	case c.streams.exhausted():
		c.Leave()
		return ErrDraining
	}
	return nil
}

// CanOpen reports whether there is a place for a stream of ours, and nobody waits for one.
func (c *Conn) CanOpen() bool { return c.streams.canOpen() }

// AwaitPlace has w woken when there is a place for a stream of ours. Either ClaimPlace follows then, or
// AbandonPlace at any time.
func (c *Conn) AwaitPlace(w Waiter) *PlaceWaiter { return c.streams.wait(w) }

// ClaimPlace reports whether the place is still there: the peer may have lowered its limit. Where no stream may be
// opened any more all were woken, to hear of that.
func (c *Conn) ClaimPlace() bool {
	if c.streams.claim() {
		return true
	}
	if c.life.opens() {
		c.streams.noteMisled()
	}
	return false
}

// AbandonPlace cancels a wait that AwaitPlace began.
func (c *Conn) AbandonPlace(w *PlaceWaiter) { c.streams.abandon(w) }

// AwaitRoom has a waiter woken when there is room on s, which is full, or s is over: one that it shares
// with other calls, and returns.
func (c *Conn) AwaitRoom(s *Stream, newWaiter func() Waiter) Waiter { return s.pending.wait(newWaiter) }

// CallRoom has w woken when there is room on s, which is full, or s is over, in place of the last one
// that it was given. nil stands for nobody.
func (c *Conn) CallRoom(s *Stream, w Waiter) { s.pending.call(w) }

// Refund says that freed bytes of memory are not held for s any more.
func (c *Conn) Refund(s *Stream, freed int) { c.account.refundOf(s, freed) }

// OpenStream gives s the next stream id and queues f, which has Headers, as its beginning. opened is
// false if the peer will see nothing of s.
func (c *Conn) OpenStream(s *Stream, f *Frames, uncopied int) (opened bool, err error) {
	c.streams.begin(s, c.streams.nextLocal, c.streams.side, &c.windows)
	err = c.encode(s, f, uncopied)
	if s.state == stateIdle { // the id is still unused
		c.streams.remove(s)
		return false, err
	}
	c.streams.takeID()
	return true, err
}

// AskAlive queues a PING of keepalive's.
func (c *Conn) AskAlive() { c.out.ping(AlivePing) }

// IsOpen reports whether s is open, and so is the connection.
func (c *Conn) IsOpen(s *Stream) bool {
	return s.state != stateIdle && s.state != stateClosed && !c.life.dead()
}

// TakesMore reports whether the peer may send on s, and is there.
func (c *Conn) TakesMore(s *Stream) bool { return s.state.canRecv() && !c.life.dead() }

// Consumed lets the peer send n bytes more on s, which takes more: as many were taken.
func (c *Conn) Consumed(s *Stream, n uint32) { c.out.windowUpdate(s.id, s.consume(n)) }

// Expected widens the window of s, which takes more, for n bytes that somebody waits for.
func (c *Conn) Expected(s *Stream, n uint32) { c.out.windowUpdate(s.id, s.in.Expect(n)) }

// ResetStream ends s at once on both sides: RST_STREAM with code. It reports false if it has ended
// already.
func (c *Conn) ResetStream(s *Stream, code frame.ErrCode) bool {
	if !c.IsOpen(s) {
		return false
	}
	c.reset(s, code)
	return true
}

// Unsent is how many bytes of DATA wait on s for the peer's windows.
func (s *Stream) Unsent() int {
	if s.pending == nil {
		return 0
	}
	return s.pending.size
}

// IsHandled reports whether HandlerDone was called. It is for the handler's goroutine, without the lock.
func (s *Stream) IsHandled() bool { return s.handled }

// HandlerDone follows the end of the handler of s, which the peer opened. It reports whether that gave
// memory back.
func (c *Conn) HandlerDone(s *Stream) bool {
	s.handled = true
	if !s.counted {
		return false
	}
	s.counted = false
	c.account.settle(s)
	c.streams.handlers.returned()
	c.wakeReader()
	return true
}
