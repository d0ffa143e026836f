// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/frame"

// OverBudget reports whether the peer has made us queue so much that nothing more should be read before
// some of it is written. opening means that the peer wants to open a stream, which causes more output.
func (c *Conn) OverBudget(opening bool) bool {
	if c.life.mute {
		return false // nothing will be written, so there is nothing to wait for
	}
	return c.out.full(c.streams.open(), opening)
}

// MayOpen returns the reason why we may not open a stream, or nil if we may.
func (c *Conn) MayOpen() error {
	switch {
	case c.life.dead():
		return c.end.cause
	case !c.life.opens():
		return ErrDraining
	case c.streams.exhausted():
		c.EndAfterStreams()
		return ErrDraining
	}
	return nil
}

// CanOpen reports whether there is a place for a stream of ours, and no call waits for one.
func (c *Conn) CanOpen() bool { return c.streams.canOpen() }

// AwaitPlace makes w wait for a place for a stream of ours. When w is woken, the caller calls
// ClaimPlace. It may give up at any time with AbandonPlace instead.
func (c *Conn) AwaitPlace(w Waiter) *PlaceWaiter { return c.streams.wait(w) }

// ClaimPlace reports whether the place is still there: the peer may have lowered its limit. When no
// stream may be opened any more, all waiters are woken so that they find that out.
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

// AwaitRoom returns a Waiter that is woken when there is room on s, or s is over. s must be full. All
// callers that wait at the same time share one Waiter, which newWaiter makes for the first.
func (c *Conn) AwaitRoom(s *Stream, newWaiter func() Waiter) Waiter { return s.pending.wait(newWaiter) }

// CallRoom makes w wait until there is room on s, or s is over. s must be full. w replaces the Waiter
// of the last call, if that was not woken yet. A nil w changes nothing.
func (c *Conn) CallRoom(s *Stream, w Waiter) { s.pending.call(w) }

// Refund says that freed bytes of memory are no longer held for s.
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

// AskAlive queues a PING for keepalive.
func (c *Conn) AskAlive() { c.out.ping(AlivePing) }

// IsOpen reports whether both s and the connection are open.
func (c *Conn) IsOpen(s *Stream) bool {
	return s.state != stateIdle && s.state != stateClosed && !c.life.dead()
}

// TakesMore reports whether the peer may still send on s, and the connection is not dead.
func (c *Conn) TakesMore(s *Stream) bool { return s.state.canRecv() && !c.life.dead() }

// Consumed lets the peer send n more bytes on s, because n bytes were consumed. TakesMore must be true.
func (c *Conn) Consumed(s *Stream, n uint32) { c.out.windowUpdate(s.id, s.consume(n)) }

// Expected widens the window of s for n bytes that a goroutine waits for. TakesMore must be true.
func (c *Conn) Expected(s *Stream, n uint32) { c.out.windowUpdate(s.id, s.in.Expect(n)) }

// ResetStream ends s at once on both sides, with RST_STREAM and code. It returns false if s has ended
// already.
func (c *Conn) ResetStream(s *Stream, code frame.ErrCode) bool {
	if !c.IsOpen(s) {
		return false
	}
	c.reset(s, code)
	return true
}

// Unsent returns how many bytes of DATA wait on s for the peer's windows.
func (s *Stream) Unsent() int {
	if s.pending == nil {
		return 0
	}
	return s.pending.size
}

// IsHandled reports whether HandlerDone was called. The handler's goroutine may call it without the
// lock.
func (s *Stream) IsHandled() bool { return s.handled }

// HandlerDone says that the handler of s, which the peer opened, has ended. It reports whether that
// gave memory back.
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
