// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport/grpcwire"
)

// Arm is for an owner that receives without a goroutine. It reports whether Recv would return at once. If
// the server streams, Recv then returns a message or the end. If it does not, there is the end, or a second
// message, which is one too many. If Recv would wait, Arm has w woken, once, when it would return. The end
// of the context does not wake w: whoever began the stream cancels it.
func (s *ClientStream) Arm(w handover.Waker, streams bool) bool {
	if streams {
		return s.arm(w, wakeMessage, 0)
	}
	return s.arm(w, wakeEnd, 1)
}

// ArmReply is Arm for a server that does not stream, if the caller wants to look at the reply before the
// end has arrived. It reports whether the reply or the end has arrived. Like AwaitReply, it mostly wakes w
// only once for a reply that comes with its end.
func (s *ClientStream) ArmReply(w handover.Waker) bool { return s.arm(w, wakeReply, 0) }

// arm reports whether the stream is over or has more than most messages. If not, it has w woken for reason.
func (s *ClientStream) arm(w handover.Waker, reason wakeReason, most int) bool {
	s.mu.Lock()
	if s.over || s.inbox.len() > most {
		s.mu.Unlock()
		return true
	}
	s.wake.call(w, reason)
	expect, freed := s.expect(), s.rest()
	s.mu.Unlock()
	s.h2.Expect(expect, freed)
	return false
}

// EarlyReply returns a copy of the first message if that has arrived and the end has not. Recv still
// returns that message next.
func (s *ClientStream) EarlyReply() (grpcwire.Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.inbox.first
	if s.over || m.Data.IsZero() {
		return grpcwire.Message{}, false
	}
	return m.Clone(), true
}

// Empty reports whether no message waits for Recv.
func (s *ClientStream) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inbox.len() == 0
}

// ArmRoom reports whether Send would return at once. If not, it has w woken when Send would.
func (s *ClientStream) ArmRoom(w handover.Waker) bool { return s.h2.CallRoom(w, false) }
