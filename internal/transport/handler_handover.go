// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/status"
)

// A call behind net/http that was handed over keeps the goroutine of its request, because that must not
// return before the call has ended. This goroutine also writes: a Write to a ResponseWriter may wait, but
// sending on a stream that was handed over must not.

// HandOver does what ServerStream.HandOver does. The goroutine of the request then has to call Serve.
func (s *HandlerStream) HandOver(o handover.Owner) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.finished:
		return errFinished
	case s.handed.Load() != nil:
		return errHandedOver
	}
	s.handed.Store(&handedResponse{owner: o, work: make(chan struct{}, 1)})
	s.body.begin()
	return nil
}

// Owner does what ServerStream.Owner does.
func (s *HandlerStream) Owner() handover.Owner {
	if h := s.handed.Load(); h != nil {
		return h.owner
	}
	return nil
}

// Serve writes what the owner sends, until the call has ended. The owner may still use the
// stream afterwards, to no effect.
func (s *HandlerStream) Serve() {
	h := s.handed.Load()
	if h == nil {
		return
	}
	for {
		for p, ok := h.next(); ok; p, ok = h.next() {
			n := handedCost(&p)
			if s.writeNext(p) != nil {
				s.cancel() // the owner finds out, and ends the call
			}
			p.Data.Free()
			h.wrote(n)
		}
		if st, ok := h.last(); ok {
			s.finishLast(st)
			return
		}
		<-h.work
	}
}

// writeNext writes what the owner has sent, after what a goroutine was sending when the call was handed over.
func (s *HandlerStream) writeNext(p Payload) error {
	s.out.Lock()
	defer s.out.Unlock() // also if a middleware's ResponseWriter panics
	return s.write(p)
}

func (s *HandlerStream) finishLast(st *status.Status) {
	s.out.Lock()
	defer s.out.Unlock()
	s.finish(st)
}

// Arm does what ServerStream.Arm does.
func (s *HandlerStream) Arm(w handover.Waker, input bool) handover.Events {
	late := s.isLate()
	have := s.arm(w, input, late)
	if have == 0 && !late && s.isLate() { // meanwhile; then it may have woken nobody
		have = s.arm(w, input, true)
	}
	return have
}

// isLate reports whether the context has ended that a tap has returned. That is the program's code, so no lock is held.
func (s *HandlerStream) isLate() bool { return s.body.bound != nil && s.body.bound.Err() != nil }

func (s *HandlerStream) arm(w handover.Waker, input, late bool) handover.Events {
	h := s.handed.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return handover.Over
	case input && (late || s.body.ready()):
		return handover.Input
	case !input && late && !h.ending:
		return handover.Late
	}
	h.input = w
	return 0
}

// ArmRoom does what ServerStream.ArmRoom does.
func (s *HandlerStream) ArmRoom(w handover.Waker, _ bool) bool {
	h := s.handed.Load()
	if h == nil {
		return true // net/http does not tell
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size < handedBuffer || s.ctx.Err() != nil {
		return true
	}
	if w != nil {
		h.room = w
	}
	return false
}

// Offer does what ServerStream.Offer does.
func (s *HandlerStream) Offer(p *Payload, w handover.Waker, _ int) (taken bool, err error) {
	if !s.ArmRoom(w, false) {
		return false, nil
	}
	return true, s.Send(*p)
}

// EndLazy has nothing to do: nothing is sent lazily.
func (s *HandlerStream) EndLazy() {}

// Flush has nothing to do: each message is flushed when it is written.
func (s *HandlerStream) Flush() {}

// EndedEarly ends the context, which otherwise ends when the handler returns: a handler that waits for
// its context has to return, because net/http sends the trailers then. The context of a call that was
// handed over is left to the owner.
func (s *HandlerStream) EndedEarly() {
	if s.handed.Load() == nil { // nothing can be handed over after Finish
		s.cancel()
	}
}

// Conn does what ServerStream.Conn does.
func (s *HandlerStream) Conn() any { return s }

// Fate does what ServerStream.Fate does, but for a lost connection: net/http does not tell that from a cancellation.
func (s *HandlerStream) Fate() error {
	if s.stopped.Load() {
		return errStopped
	}
	return status.FromContextError(s.ctx.Err()).Err()
}

// Done has nothing to do.
func (s *HandlerStream) Done() {}
