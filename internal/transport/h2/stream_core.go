// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/flow"

// stream is a [Stream] as the connection's organs know it. All but the first group is
// guarded by Conn.mu.
type stream struct {
	// Set by Init, and before the stream is in the table.
	recv   Receiver
	id     uint32
	opener Side

	state   streamState // changed by on alone
	handled bool        // Done was called
	settled bool        // nothing is charged for it any more
	counted bool        // stands among the handlers whose stream is gone
	out     flow.Outflow
	in      flow.Inflow
	pending *sendQueue    // what the windows have not let through yet
	space   chan struct{} // a sender waits for room; closed when there is some
	held    int           // bytes that the account was charged for it, but for shared
	shared  *Shared       // what was made of the header block that it began with

	// The scheduler's ring.
	next, prev *stream
}

// on changes the state as ev does, and reports whether RFC 9113 section 5.1 allows it; if
// not, nothing changes.
func (s *stream) on(ev streamEvent) bool {
	next, ok := s.state.next(ev)
	if ok {
		s.state = next
	}
	return ok
}

// signalSpace tells who waits for it that there is room, or no stream any more.
func (s *stream) signalSpace() {
	if s.space != nil {
		close(s.space)
		s.space = nil
	}
}
