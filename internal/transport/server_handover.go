// SPDX-License-Identifier: Apache-2.0

package transport

import "google.golang.org/grpc/internal/handover"

// A call whose handler has handed its stream over has no goroutine. The owner receives then,
// and calls Arm where a handler would wait in Recv.

// HandOver makes o the owner: HandleStream may return before the call has ended, and Done
// has to follow the end. It is for the handler, before that returns. The error has a status.
func (s *ServerStream) HandOver(o handover.Owner) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.finished:
		return errFinished
	case s.owner != nil:
		return errHandedOver
	}
	s.owner = o
	s.asContext().startTimer()
	return nil
}

// Owner is what HandOver was given, nil if it was not called. It is for the handler, and for
// who runs after it.
func (s *ServerStream) Owner() handover.Owner { return s.owner }

// Arm implements handover.Server.
func (s *ServerStream) Arm(w handover.Waker, input bool) handover.Events {
	expect := 0
	s.mu.Lock()
	switch {
	case s.asContext().isOver():
		s.mu.Unlock()
		return handover.Over
	case input && (s.inbox.len() > 0 || s.ended || s.bodyErr() != nil):
		s.mu.Unlock()
		return handover.Input
	case input:
		s.wake.call(w, wakeMessage)
		expect = s.expect()
	default:
		s.wake.call(w, wakeEnd)
	}
	s.mu.Unlock()
	s.h2.Expect(expect)
	return 0
}

// ArmRoom implements handover.Server.
func (s *ServerStream) ArmRoom(w handover.Waker, lazy bool) bool { return s.h2.CallRoom(w, lazy) }

// Flush implements handover.Server.
func (s *ServerStream) Flush() { s.h2.Flush() }

// Conn implements handover.Server.
func (s *ServerStream) Conn() any { return s.server }

// Fate implements handover.Server.
func (s *ServerStream) Fate() error {
	err := s.ctxErr()
	if err == nil {
		return nil
	}
	return s.sendError(err)
}

// Done follows the end of a call that was handed over.
func (s *ServerStream) Done() { s.h2.Done() }
