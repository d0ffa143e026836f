// SPDX-License-Identifier: Apache-2.0

// Package serializer runs callbacks one at a time and in order, without a goroutine of
// its own: whoever finds nobody running them becomes the one who does.
package serializer

import "sync"

// Serializer is a queue of callbacks. The zero value is ready. It takes 24 bytes
// while it has nothing to do.
type Serializer struct {
	mu     sync.Mutex
	queue  *entry // the last one, whose next is the first; nil while empty
	busy   bool   // somebody runs the queue, or is about to
	closed bool
}

// entry is a callback in a ring of them.
type entry struct {
	f    func()
	next *entry
}

// Do has f run after everything that was queued before. If nobody runs the queue the
// caller does, f included and whatever others add meanwhile, before Do returns. The
// caller must not hold a lock that a callback may want. It returns false, and drops f,
// after Close.
func (s *Serializer) Do(f func()) bool {
	queued, run := s.add(f)
	if run {
		s.run()
	}
	return queued
}

// Go is Do for callers who hold locks or must not wait: f never runs on their
// goroutine.
func (s *Serializer) Go(f func()) bool {
	queued, run := s.add(f)
	if run {
		go s.run()
	}
	return queued
}

// Close makes Do and Go drop what comes later. What is queued still runs.
func (s *Serializer) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// add queues f and says whether it was, and whether the caller has to run the queue.
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

// run works until the queue is empty. If a callback panics the queue stays usable for
// those who recover.
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
	defer func() {
		if last != nil {
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
	return false
}

// abandon puts back what a panic kept from running, and lets somebody else go on.
func (s *Serializer) abandon(last *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = joined(last, s.queue)
	s.busy = false
}

// joined makes one ring of two, either of which may be empty, and returns its last entry.
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
