// SPDX-License-Identifier: Apache-2.0

package protocol

// scheduler is the ring of streams that have DATA waiting and room in their own window. The writer
// takes one frame from each in turn. The links of the ring are in the send queues of the streams.
type scheduler struct {
	head *Stream // the stream whose turn it is
}

func (r *scheduler) empty() bool { return r.head == nil }

// add puts s, which has DATA waiting, at the end of the ring. It does nothing if s is in the ring
// already.
func (r *scheduler) add(s *Stream) {
	q := s.pending
	if q.next != nil {
		return
	}
	if r.head == nil {
		q.next, q.prev = s, s
		r.head = s
		return
	}
	first := r.head.pending
	q.prev, q.next = first.prev, r.head
	first.prev.pending.next = s
	first.prev = s
}

// remove takes s out of the ring, if it is in it.
func (r *scheduler) remove(s *Stream) {
	q := s.pending
	switch {
	case q == nil || q.next == nil:
		return
	case q.next == s:
		r.head = nil
	default:
		q.prev.pending.next, q.next.pending.prev = q.next, q.prev
		if r.head == s {
			r.head = q.next
		}
	}
	q.next, q.prev = nil, nil
}

// rotate moves the turn from the head to the next stream.
func (r *scheduler) rotate() {
	if r.head != nil {
		r.head = r.head.pending.next
	}
}
