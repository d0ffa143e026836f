// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport/h2"
)

// A call whose handler has handed its stream over has no goroutine. The owner receives then,
// and calls Arm where a handler would wait in Recv.

// HandOver makes o the owner of the call: HandleStream may return before the call has ended, and Done must
// be called after the end. The handler calls HandOver before it returns. The error has a status.
func (s *ServerStream) HandOver(o handover.Owner) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.finished:
		return errFinished
	case s.owner != nil:
		return errHandedOver
	}
	s.owner = &owned{Owner: o}
	s.asContext().startTimer()
	return nil
}

// Owner returns what HandOver was given, or nil if it was not called. The handler may call it, and code
// that runs after the handler.
func (s *ServerStream) Owner() handover.Owner {
	if s.owner == nil {
		return nil
	}
	return s.owner.Owner
}

// Arm implements handover.Server.
func (s *ServerStream) Arm(w handover.Waker, input bool) handover.Events {
	expect := 0
	s.mu.Lock()
	switch {
	case s.asContext().isOver():
		s.mu.Unlock()
		return handover.Over
	case input && (s.inbox.len() > 0 || s.ended || s.cold().bodyErr != nil || s.cold().bound.ended() != nil):
		s.mu.Unlock()
		return handover.Input
	case input:
		s.wake.call(w, wakeMessage)
		expect = s.expect()
	case s.cold().bound.ended() != nil && !s.finished:
		s.mu.Unlock()
		return handover.Late
	default:
		s.wake.call(w, wakeOver)
	}
	freed := s.rest()
	s.mu.Unlock()
	s.h2.Expect(expect, freed)
	return 0
}

// ArmRoom implements handover.Server.
func (s *ServerStream) ArmRoom(w handover.Waker, lazy bool) bool { return s.h2.CallRoom(w, lazy) }

// Offer sends p if there is room. If not, it has w woken, as ArmRoom does. Offer leaves the writing to
// Flush, unless more is 0: see h2.Frames.
func (s *ServerStream) Offer(p *Payload, w handover.Waker, more int) (taken bool, err error) {
	f := p.frames()
	f.More = more
	if err := s.mayNotSend(&f); err != nil {
		p.Data.Free()
		return false, err
	}
	taken, err = s.h2.OfferTo(&f, w)
	if !taken {
		return false, nil
	}
	if err = s.sent(&f, err); err == nil {
		s.server.traffic().messageSent()
	}
	return true, err
}

// EndLazy implements handover.Server.
func (s *ServerStream) EndLazy() { s.h2.EndLazy() }

// Flush implements handover.Server.
func (s *ServerStream) Flush() { s.h2.Flush() }

// EndedEarly is called after Finish if the handler may go on for long.
func (s *ServerStream) EndedEarly() { s.Flush() }

// Conn implements handover.Server.
func (s *ServerStream) Conn() any { return s.server }

// Fate implements handover.Server.
func (s *ServerStream) Fate() error {
	err := s.ctxErr()
	if err == nil {
		return nil
	}
	s.mu.Lock()
	tooLarge := s.owner.tooLarge
	s.mu.Unlock()
	if tooLarge != nil {
		return headerListError(tooLarge, "client").Err()
	}
	return s.sendError(err)
}

// noteTooLarge keeps why the headers or the trailers were refused, for Fate. It is called before the
// context ends.
func (s *ServerStream) noteTooLarge(e *h2.ErrHeaderListTooLarge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != nil {
		s.owner.tooLarge = e
	}
}

// Done must be called after the end of a call that was handed over.
func (s *ServerStream) Done() {
	s.h2.Done()
	s.boundEnd()
}
