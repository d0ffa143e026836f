// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"iter"
	"math"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/mem"
)

// streams is what a connection knows about its streams: which streams there are, which of them sends
// next, and how many handlers still run without theirs.
type streams struct {
	streamTable
	scheduler scheduler
	handlers  handlers
}

// waits says who waits for less to be queued on the connection.
type waits uint8

const (
	readerWaits waits = 1 << iota // the reader, or for a handler to return: see BlockReader
	sendersWait                   // senders may, on streams that have room of their own: see isFull
)

// begin puts s, which opener opens, into the table.
func (t *streams) begin(s *Stream, id uint32, opener Side, windows *flow.Windows) {
	s.id, s.opener = id, opener
	s.in, s.out = windows.Stream()
	t.insert(s)
}

// schedule gives s a turn to send, if DATA waits on it and its own window has room. Whatever widens the
// window of s, or lets the first DATA wait on it, must call it: nothing else looks for such streams.
func (t *streams) schedule(s *Stream) {
	if s.pending != nil && s.out.Window() > 0 {
		t.scheduler.add(s)
	}
}

// stop ends our side of s: nothing more is sent, and DATA that waits is freed.
func (t *streams) stop(s *Stream, pool mem.BufferPool) {
	t.scheduler.remove(s)
	if s.pending != nil {
		t.queued -= uint32(s.pending.size)
		s.pending.drop(pool)
		s.pending = nil
	}
}

// push queues f behind the DATA that waits on s.
func (t *streams) push(s *Stream, f *Frames, pool mem.BufferPool) {
	before := 0
	if s.pending == nil {
		s.pending = newSendQueue(f, pool)
	} else {
		before = s.pending.size
		s.pending.push(f, pool)
	}
	t.queued += uint32(s.pending.size - before)
}

// isFull reports whether a sender on s should wait before it queues more. That is so if s has as much
// queued as it may, or if s has something queued and all streams together have bound bytes queued. In
// both cases s.pending is not nil.
func (t *streams) isFull(s *Stream, bound int64) bool {
	q := s.pending
	if q == nil || q.size == 0 {
		return false
	}
	if q.size >= SendBuffer || q.size >= ShutBuffer && s.out.Window() == 0 {
		return true
	}
	if int64(t.queued) >= bound {
		t.waits |= sendersWait
		return true
	}
	return false
}

// LoseStreams ends all streams, because their connection has ended. It returns them.
func (c *Conn) LoseStreams() iter.Seq[*Stream] { return c.streams.lose().all() }

// lose ends all streams, because their connection has ended. It returns them.
func (t *streams) lose() *streamSet {
	lost := t.byID
	for s := range lost.all() {
		s.on(lose)
	}
	t.clear()
	return lost
}

// isCrowded reports whether so many handlers run that no other may begin. maxPeer is how many streams
// the peer may have open.
func (t *streams) isCrowded(maxPeer uint32) bool {
	return t.handlers.left >= maxOrphans(maxPeer) || uint64(t.peer())+uint64(t.handlers.left) >= uint64(maxPeer)
}

// maxOrphans returns how many handlers may run whose stream is gone.
func maxOrphans(maxPeer uint32) uint32 {
	if maxPeer == math.MaxUint32 { // no limit
		return MaxOrphans
	}
	return maxPeer
}

// ReceiveWindows returns the receive windows of all streams.
func (c *Conn) ReceiveWindows() iter.Seq[*flow.Inflow] {
	return func(yield func(*flow.Inflow) bool) {
		for s := range c.streams.byID.all() {
			if !yield(&s.in) {
				return
			}
		}
	}
}

// handlers counts the handlers that still run after their stream is gone.
type handlers struct {
	left uint32
	// stuck is one more than were left when the reader had waited too long for one to return; 0 before,
	// and once clearly fewer are left.
	stuck uint32
}

func (h *handlers) outlives() { h.left++ }

// returned counts one that has returned. Once a quarter of those that were stuck have returned the reader waits for
// handlers again: if a single one were enough, a peer that takes each place at once could have it wait
// for most of the time.
func (h *handlers) returned() {
	h.left--
	if h.left == 0 || uint64(h.left)*4+3 < uint64(h.stuck)*3 {
		h.stuck = 0
	}
}

// waitedTooLong follows a wait in which none has returned.
func (h *handlers) waitedTooLong() { h.stuck = h.left + 1 }

// areHopeless reports whether it is in vain to wait for one to return: there is none but those for which the
// reader has waited too long.
func (h *handlers) areHopeless() bool { return h.left < h.stuck }
