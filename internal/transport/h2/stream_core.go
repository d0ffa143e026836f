// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/mem"
)

// stream is a [Stream] without its Conn, as the organs know it. All but the first group is
// guarded by Conn.mu.
type stream struct {
	// Set by Init, and before the stream is in the table.
	recv   Receiver
	id     uint32
	opener Side

	state   streamState  // changed by on alone
	handled bool         // Done was called
	settled bool         // nothing is charged for it any more
	counted bool         // stands among the handlers whose stream is gone
	lazy    bool         // the next Send leaves the writing to others: see CallRoom
	company flow.Company // of updates of in
	out     flow.Outflow
	in      flow.Inflow
	pending *sendQueue // what the windows have not let through yet
	held    int        // bytes that the account was charged for it, without shared
	shared  *Shared    // what was made of its last field block
}

// sendQueue is DATA, and what follows it, that could not be sent at once.
type sendQueue struct {
	parts    []dataPart
	off      int // how much of parts[0] is sent
	size     int // bytes left in all
	trailers FieldSource
	end      bool
	space    waiter // a sender that waits for room; nil: none

	// The scheduler's ring: streams whose turn follows, and comes before.
	next, prev *stream
}

// dataPart is a run of bytes of a sendQueue.
type dataPart struct {
	shared *[]byte    // small messages, one after the other, in a buffer of the pool; nil: ref has the bytes
	ref    mem.Buffer // a piece of a message, which is the queue's
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

// consume gives back n bytes of the receive window, and returns the increment to send now.
func (s *stream) consume(n uint32) (increment uint32) { return s.company.Consume(&s.in, n) }

// expect widens the receive window for n bytes, and returns the increment to send.
func (s *stream) expect(n uint32) (increment uint32) { return s.in.Expect(n) }

const (
	// sendBuffer is how many bytes of DATA may wait on a stream before Room says
	// that there is none.
	sendBuffer = 128 << 10
	// shutBuffer is the same while the stream's window is used up: to queue more would send
	// nothing any sooner.
	shutBuffer = 64 << 10
)

// gate returns a gate that signalSpace closes.
func (q *sendQueue) gate() gate {
	g, ok := q.space.(gate)
	if !ok {
		q.signalSpace() // a waiter of CallRoom, which asks again
		g = make(gate)
		q.space = g
	}
	return g
}

// call has w woken by signalSpace, in place of another that gate has not made. nil stands for
// nobody.
func (q *sendQueue) call(w waiter) {
	if w == nil {
		return
	}
	if g, ok := q.space.(gate); ok {
		w = both{g, w}
	}
	q.space = w
}

// signalSpace wakes the sender that waits for room: there is some, or the stream is over.
func (q *sendQueue) signalSpace() {
	if q.space != nil {
		q.space.Wake()
		q.space = nil
	}
}

// waiter waits for room. Wake is called once, with Conn.mu held.
type waiter interface{ Wake() }

// gate is a waiter for goroutines: each waits for it to be closed.
type gate chan struct{}

// Wake implements waiter.
func (g gate) Wake() { close(g) }

// both is a gate and another waiter.
type both struct {
	gate
	other waiter
}

// Wake implements waiter.
func (b both) Wake() {
	b.gate.Wake()
	b.other.Wake()
}
