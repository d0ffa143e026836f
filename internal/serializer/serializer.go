// SPDX-License-Identifier: Apache-2.0

// Package serializer runs callbacks one at a time and in order, without a goroutine of its own: a
// caller that adds a callback while no goroutine runs the queue runs it.
package serializer

import "sync"

// Serializer is a queue of callbacks. The zero value is ready for use. An empty Serializer takes 24
// bytes.
type Serializer struct {
	mu     sync.Mutex
	queue  *entry // the last entry, whose next is the first; nil while the queue is empty
	busy   bool   // a goroutine runs the queue, or is about to
	closed bool
}

// entry is a callback in a ring of entries.
type entry struct {
	f    func()
	next *entry
}

// Do queues f. If no goroutine runs the queue, Do runs it, including f and the callbacks that
// others add meanwhile, before it returns. The caller must not hold a lock that a callback may
// take. After Close, Do drops f and returns false.
func (s *Serializer) Do(f func()) bool {
	queued, run := s.add(f)
	if run {
		s.run()
	}
	return queued
}

// Go is like Do, but never runs a callback on the caller's goroutine. It is for callers that hold
// locks or must not wait.
func (s *Serializer) Go(f func()) bool {
	queued, run := s.add(f)
	if run {
		go s.run()
	}
	return queued
}

// Close makes later calls of Do and Go drop their callbacks. Callbacks that are queued still run.
func (s *Serializer) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// add queues f, unless the Serializer is closed. run reports whether the caller must run the queue.
func (s *Serializer) add(f func()) (queued, run bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, false
	}
	e := &entry{f: f}
	e.next = e
	s.queue = joined(s.queue, e)
	run = !s.busy
	s.busy = true
	return true, run
}

// run runs callbacks until the queue is empty. If a callback panics or ends its goroutine, the queue
// stays usable, as the program may recover.
func (s *Serializer) run() {
	for done := false; !done; {
		done = s.runBatch()
	}
}

func (s *Serializer) runBatch() (done bool) {
	s.mu.Lock()
	last := s.queue
	s.queue = nil
	if last == nil {
		s.busy = false
		s.mu.Unlock()
		return true
	}
	s.mu.Unlock()
	returned := false
	defer func() {
		if !returned {
			s.abandon(last)
		}
	}()
	for last != nil {
		first := last.next
		if first == last {
			last = nil
		} else {
			last.next = first.next
		}
		first.f()
	}
	returned = true
	return false
}

// abandon puts the callbacks that a panic kept from running back into the queue. If there are
// callbacks, a new goroutine runs them, as somebody may wait for them and nobody need ever add
// another.
func (s *Serializer) abandon(last *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = joined(last, s.queue)
	s.busy = s.queue != nil
	if s.busy {
		go s.run()
	}
}

// joined joins two rings into one and returns its last entry. Either ring may be empty.
func joined(front, back *entry) *entry {
	if front == nil {
		return back
	}
	if back == nil {
		return front
	}
	front.next, back.next = back.next, front.next
	return back
}
