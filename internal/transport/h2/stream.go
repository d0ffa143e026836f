// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"runtime"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/internal/warm"
)

// Init prepares a stream whose events go to recv. If the peer opens the stream, cost is the memory, in
// bytes, that it takes.
func (s *Stream) Init(recv protocol.Receiver, cost int) { s.core.Init(recv, cost) }

// Redirect makes all further events of the stream go to recv. Only the reader may call it, within a
// call of the current Receiver.
func (s *Stream) Redirect(recv protocol.Receiver) { s.core.Redirect(recv) }

// Go runs t, which serves the stream, on another goroutine, or on the reader's goroutine if the reader
// is about to park. Only the reader may call it.
func (s *Stream) Go(t warm.Task) { (*reader)(s.conn).launch(t) }

// ID returns the stream's identifier, or 0 before the stream is open.
func (s *Stream) ID() uint32 { return s.core.Identifier() }

// Receiver returns the Receiver to which the events of the stream go.
func (s *Stream) Receiver() protocol.Receiver { return s.core.Receiver() }

// Send queues f and makes sure that it is written. It does not wait: see Offer and CallRoom for
// back-pressure. An error means that nothing of f will be sent, or, if the trailers are over the peer's
// limit, that the stream was reset.
func (s *Stream) Send(f protocol.Frames) error {
	c := s.conn.lock()
	err := c.core.Queue(&s.core, &f, c.wire.LeastPiece())
	c.unlockQueued(&s.core)
	return err
}

// SendLast is Send for a goroutine that will soon call Leave, and will not wait for anything before
// that. If a write may wait, SendLast leaves the writing to Leave. If done is true, SendLast also does
// what Done does; the caller then runs nothing that may take long before Leave.
func (s *Stream) SendLast(f protocol.Frames, done bool) error {
	c := s.conn.lock()
	if done {
		c.done(s)
	}
	err := c.core.Queue(&s.core, &f, c.wire.LeastPiece())
	s.core.SetLazy(c.in.writesWait())
	c.unlockQueued(&s.core)
	return err
}

// SendSoon is Send for a goroutine that has something to do first. Another goroutine writes.
func (s *Stream) SendSoon(f protocol.Frames) error {
	c := s.conn.lock()
	err := c.core.Queue(&s.core, &f, c.wire.LeastPiece())
	token, gathers := c.core.TakeToken(), c.gathers()
	c.unlock()
	switch w := (*writer)(c); {
	case token && gathers:
		(*Conn)(w).ground().Go((*gatheringWriter)(w))
	case token:
		w.pass()
	}
	return err
}

// Queue is Send for the reader, within a call of its Handler or Receiver. What is queued is written
// when the batch ends.
func (s *Stream) Queue(f protocol.Frames) error {
	c := (*reader)(s.conn).lock()
	defer c.unlock()
	return c.core.Queue(&s.core, &f, c.wire.LeastPiece())
}

// Offer is Send for a sender that waits for room. If there is no room, and CallRoom has not promised it, Offer
// leaves f as it is, and returns a channel that is closed when there is room, or when the stream is over.
func (s *Stream) Offer(f *protocol.Frames) (room <-chan struct{}, err error) {
	c := s.conn.lock()
	if !s.core.TakeRoom() && c.core.Full(&s.core) {
		room = c.core.AwaitRoom(&s.core, newGate).(gate)
	} else {
		err = c.core.Queue(&s.core, f, c.wire.LeastPiece())
	}
	c.unlockQueued(&s.core) // also writes what others have left: perhaps nobody else is about to do so
	return room, err
}

// unlockQueued releases mu and makes sure that what is queued is written, unless the sender leaves that
// to others.
func (c *locked) unlockQueued(s *protocol.Stream) {
	if s.TakeLazy() {
		c.unlock()
		return
	}
	c.unlockAndFlush()
}

// CallRoom reports whether the stream takes another message. If it does not, w is woken once: when it
// does, when the stream is over, or spuriously. Wake is called with the connection's lock held, and
// must use neither the stream nor the connection. w replaces the w of an earlier call that was not
// woken yet. A nil w changes nothing. If there is room, the next Offer takes its message even if the room
// is gone by then, as when the peer has lowered its window meanwhile. If lazy is true as well, the next Send
// only queues. The next sender on the connection, or Flush, then writes what it queued. A caller that can't be sure
// that somebody sends calls EndLazy before Flush.
func (s *Stream) CallRoom(w interface{ Wake() }, lazy bool) bool {
	c := s.conn.lock()
	defer c.unlock()
	if c.core.Full(&s.core) {
		c.core.CallRoom(&s.core, w)
		return false
	}
	s.core.SetLazy(lazy)
	s.core.Promise()
	return true
}

// OfferTo is Send for a sender that does not wait. If the stream has no room, OfferTo leaves f as it
// is, and w is woken as by CallRoom.
func (s *Stream) OfferTo(f *protocol.Frames, w interface{ Wake() }) (taken bool, err error) {
	c := s.conn.lock()
	if c.core.Full(&s.core) {
		c.core.CallRoom(&s.core, w)
		c.unlock()
		return false, nil
	}
	err = c.core.Queue(&s.core, f, c.wire.LeastPiece())
	if f.More > 0 {
		c.unlock()
	} else {
		c.unlockAndFlush()
	}
	return true, err
}

// Consume says that n bytes of the body were taken, so that the peer may send n more, and that freed
// bytes of memory are no longer held for the peer. freed may be below 0: then that much more is held,
// because the reader has made room for a message meanwhile.
func (s *Stream) Consume(n, freed int) {
	if n > 0 || freed != 0 {
		s.grant((*protocol.Conn).Consumed, n, freed)
	}
}

// Expect says that the application waits for n bytes of the body that have not arrived. The window
// becomes wide enough for the peer to send them. freed has the same meaning as in Consume.
func (s *Stream) Expect(n, freed int) {
	if n > 0 || freed != 0 {
		s.grant((*protocol.Conn).Expected, n, freed)
	}
}

// Refund says that freed bytes of memory are no longer held for the peer.
func (s *Stream) Refund(freed int) {
	c := s.conn.lock()
	c.core.Refund(&s.core, freed)
	c.show()
	c.unlock()
}

func (s *Stream) grant(by func(*protocol.Conn, *protocol.Stream, uint32), n, freed int) {
	c := s.conn.lock()
	if freed != 0 {
		c.core.Refund(&s.core, freed)
		c.show()
	}
	if !c.core.TakesMore(&s.core) {
		c.unlock()
		return
	}
	by(&c.core, &s.core, uint32(n))
	c.unlockAndFlush()
}

// Reset ends the stream at once on both sides. It sends RST_STREAM with code, unless the stream has
// ended already. Queued data is dropped. The Receiver is not told.
func (s *Stream) Reset(code frame.ErrCode) {
	c := s.conn.lock()
	if !c.core.ResetStream(&s.core, code) {
		c.unlock()
		return
	}
	c.show()
	c.unlockAndFlush()
}

// Done says that the handler of a stream that the peer opened has returned, or will never run. It is
// called once for each stream that was Opened. A handler whose stream is gone, for whatever reason,
// counts against the bound on such handlers (MaxOrphans) until Done is called. If Done is called before
// the last frame is sent, the handler never counts.
func (s *Stream) Done() {
	c := s.conn.lock()
	c.done(s)
	c.unlock()
}

// Leave is Done for a goroutine that has nothing else to do afterwards. If a write may wait, Leave
// writes what is queued, also for others, and may wait.
func (s *Stream) Leave() {
	if !s.conn.in.writesWait() {
		if !s.core.IsHandled() { // only SendLast and Done change that
			s.Done()
		}
		return
	}
	c := s.conn.lock()
	c.done(s)
	token, gathers := c.core.TakeToken(), c.gathers()
	c.unlock()
	if token {
		if gathers {
			runtime.Gosched()
		}
		(*writer)(c).writeAll()
	}
}

func (c *locked) done(s *Stream) {
	if c.core.HandlerDone(&s.core) {
		c.show()
	}
}

// EndLazy ends what CallRoom with lazy true has settled, if no sender has come meanwhile: the next Send, whenever
// that is, also writes.
func (s *Stream) EndLazy() {
	c := s.conn.lock()
	s.core.SetLazy(false)
	c.unlock()
}

// Flush writes what lazy senders have left: see CallRoom.
func (s *Stream) Flush() { s.conn.lock().unlockAndFlush() }

// Unsent returns how many bytes of DATA wait for the peer's windows, and whether the stream is open.
func (s *Stream) Unsent() (bytes int, open bool) {
	c := s.conn.lock()
	defer c.unlock()
	if !c.core.IsOpen(&s.core) {
		return 0, false
	}
	return s.core.Unsent(), true
}
