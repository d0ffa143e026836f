// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport/grpcwire"
)

// Arm is for whoever receives without a goroutine. It reports whether Recv would return at
// once. Where the server streams that is with a message or the end; where it does not, with
// the end or a second message, which is one too many. Else w is woken, once, when it would.
// The end of the context does not wake it: whoever began the stream cancels it.
func (s *ClientStream) Arm(w handover.Waker, streams bool) bool {
	if streams {
		return s.arm(w, wakeMessage, 0)
	}
	return s.arm(w, wakeEnd, 1)
}

// ArmReply is Arm where the server does not stream and its reply is to be looked at while the
// end is not there yet: it reports whether there is one of both. Like AwaitReply it wakes once,
// mostly, for a reply that comes with its end.
func (s *ClientStream) ArmReply(w handover.Waker) bool { return s.arm(w, wakeReply, 0) }

// arm reports whether the stream is over or has more than most messages, or has w woken.
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

// EarlyReply returns a copy of the first message if it is there while the end is not. It stays what
// Recv returns next.
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

// ArmRoom reports whether Send would return at once. Else w is woken when it would.
func (s *ClientStream) ArmRoom(w handover.Waker) bool { return s.h2.CallRoom(w, false) }
