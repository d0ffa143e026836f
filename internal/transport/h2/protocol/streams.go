// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"iter"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/mem"
)

// streams is what a connection knows of its streams: which there are, whose turn it is to
// send, and whose handlers still run.
type streams struct {
	streamTable
	scheduler scheduler
	handlers  handlers
}

// begin puts s, which opener opens, into the table.
func (t *streams) begin(s *Stream, id uint32, opener Side, windows *flow.Windows) {
	s.id, s.opener = id, opener
	s.in, s.out = windows.Stream()
	t.insert(s)
}

// schedule gives s a turn to send, if something waits on it and its own window lets it.
func (t *streams) schedule(s *Stream) {
	if s.pending != nil && s.out.Window() > 0 {
		t.scheduler.add(s)
	}
}

// stop follows the end of our side of s: nothing more is sent, and what waits is freed.
func (t *streams) stop(s *Stream, pool mem.BufferPool) {
	t.scheduler.remove(s)
	if s.pending != nil {
		t.queued -= uint32(s.pending.size)
		s.pending.drop(pool)
		s.pending = nil
	}
}

// push queues f behind what waits on s.
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

// isFull reports whether who sends on s should wait before more is queued: there is as much as may
// be on s, or bound bytes on all streams and something on this one. Something is pending then.
func (t *streams) isFull(s *Stream, bound int64) bool {
	q := s.pending
	if q == nil || q.size == 0 {
		return false
	}
	return q.size >= SendBuffer || q.size >= ShutBuffer && s.out.Window() == 0 || int64(t.queued) >= bound
}

// LoseStreams ends all streams, with their connection. It returns them.
func (c *Conn) LoseStreams() iter.Seq[*Stream] { return c.streams.lose().all() }

// lose is the end of all streams with their connection. It returns them.
func (t *streams) lose() *streamSet {
	lost := t.byID
	for s := range lost.all() {
		s.on(lose)
	}
	t.clear()
	return lost
}

// isCrowded reports whether so many handlers run that no other may begin.
func (t *streams) isCrowded(maxPeer uint32) bool {
	return t.handlers.left > MaxOrphans || uint64(t.peer())+uint64(t.handlers.left) >= uint64(maxPeer)
}

// ReceiveWindows are those of all streams.
func (c *Conn) ReceiveWindows() iter.Seq[*flow.Inflow] {
	return func(yield func(*flow.Inflow) bool) {
		for s := range c.streams.byID.all() {
			if !yield(&s.in) {
				return
			}
		}
	}
}

// handlers counts those that still run though their stream is gone.
type handlers struct {
	left     int32
	hopeless bool // the reader waited too long for one to return, and none has since
	blocked  bool // the reader waits for a handler to return, or for less to be queued; whoever brings that about asks for WakeReader
}

func (h *handlers) outlives() { h.left++ }

func (h *handlers) returned() {
	h.left--
	h.hopeless = false
}
