// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"google.golang.org/grpc/internal/transport/h2/flow"
)

// Stream is one HTTP/2 stream. The driver's lock guards all fields but the first group.
type Stream struct {
	// Set by Init, and before the stream is in the table.
	recv   Receiver
	id     uint32
	opener Side

	state     streamState    // only the method on changes it
	handled   bool           // HandlerDone was called
	settled   bool           // the account is not charged for it any more
	counted   bool           // its handler counts among those whose stream is gone
	promised  promise        // see Promise and SetLazy
	piggyback flow.Piggyback // of window updates for in
	out       flow.Outflow
	in        flow.Inflow
	pending   *sendQueue // what the windows have not let through yet
	held      int        // bytes that the account was charged for the stream, without shared
	shared    *Shared    // memory of what was made of its last field block
}

// Init prepares a stream whose events go to recv. If the peer opens the stream, cost is the memory, in
// bytes, that it takes.
func (s *Stream) Init(recv Receiver, cost int) { s.recv, s.held = recv, cost }

// Redirect makes all further events of the stream go to recv.
func (s *Stream) Redirect(recv Receiver) { s.recv = recv }

// Receiver returns the Receiver to which the events of the stream go.
func (s *Stream) Receiver() Receiver { return s.recv }

// Identifier returns the stream's id, or 0 before the stream is open.
func (s *Stream) Identifier() uint32 { return s.id }

// promise is what is settled for the next sender.
type promise uint8

const (
	promisedRoom promise = 1 << iota // the next message is taken without a wait
	promisedLazy                     // the next sender leaves the writing to others
)

// Promise says that a sender was told of room: the next message is taken without a wait, even if there is none by
// then.
func (s *Stream) Promise() { s.promised |= promisedRoom }

// SetLazy says whether the next sender on the stream leaves the writing to others.
func (s *Stream) SetLazy(lazy bool) {
	s.promised &^= promisedLazy
	if lazy {
		s.promised |= promisedLazy
	}
}

// TakeRoom reports whether room was promised. It does so once.
func (s *Stream) TakeRoom() bool { return s.take(promisedRoom) }

// TakeLazy reports whether the sender leaves the writing to others. It does so once.
func (s *Stream) TakeLazy() bool { return s.take(promisedLazy) }

func (s *Stream) take(p promise) bool {
	was := s.promised&p != 0
	s.promised &^= p
	return was
}

// on changes the state as ev does, and reports whether RFC 9113 section 5.1 allows it; if
// not, nothing changes.
func (s *Stream) on(ev streamEvent) bool {
	next, ok := s.state.next(ev)
	if ok {
		s.state = next
	}
	return ok
}

// consume gives back n bytes of the receive window, and returns the increment to send now.
func (s *Stream) consume(n uint32) (increment uint32) { return s.piggyback.Consume(&s.in, n) }
