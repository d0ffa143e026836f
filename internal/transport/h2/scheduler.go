// SPDX-License-Identifier: Apache-2.0

package h2

// scheduler is the ring of streams that have DATA waiting and room in their own
// window. The writer takes one frame from each in turn. Guarded by Conn.mu.
type scheduler struct {
	head *stream // whose turn it is
}

func (r *scheduler) empty() bool { return r.head == nil }

// add puts s at the end of the ring, if it is not in it.
func (r *scheduler) add(s *stream) {
	if s.next != nil {
		return
	}
	if r.head == nil {
		s.next, s.prev = s, s
		r.head = s
		return
	}
	last := r.head.prev
	s.prev, s.next = last, r.head
	last.next, r.head.prev = s, s
}

func (r *scheduler) remove(s *stream) {
	switch {
	case s.next == nil:
		return
	case s.next == s:
		r.head = nil
	default:
		s.prev.next, s.next.prev = s.next, s.prev
		if r.head == s {
			r.head = s.next
		}
	}
	s.next, s.prev = nil, nil
}

// rotate ends the turn of the head.
func (r *scheduler) rotate() {
	if r.head != nil {
		r.head = r.head.next
	}
}
