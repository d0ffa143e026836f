// SPDX-License-Identifier: Apache-2.0

package transport

import "google.golang.org/grpc/internal/handover"

// Arm is for who receives without a goroutine. It reports whether Recv would not wait: there is
// a message or the end, or, where the server does not stream, the end alone, or a message too
// many. If it would, w is woken, once, when it would not any more. The end of the context is
// not among that: whoever began the stream cancels it.
func (s *ClientStream) Arm(w handover.Waker, streams bool) bool {
	reason, most := wakeMessage, 0
	if !streams {
		reason, most = wakeEnd, 1
	}
	s.mu.Lock()
	if s.over || s.inbox.len() > most {
		s.mu.Unlock()
		return true
	}
	s.wake.call(w, reason)
	expect := s.expect()
	s.mu.Unlock()
	s.h2.Expect(expect)
	return false
}

// Empty reports whether no message waits for Recv.
func (s *ClientStream) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inbox.len() == 0
}

// ArmRoom reports whether Send would not wait. If it would, w is woken when it would not any
// more.
func (s *ClientStream) ArmRoom(w handover.Waker) bool { return s.h2.CallRoom(w, false) }
