// SPDX-License-Identifier: Apache-2.0

package transport

import "net/http"

// start runs the handler, once. The reader itself answers a request that no handler may see: with a
// goroutine for each of them, a flood would cost far more.
func (s *ServerStream) start() {
	if s.started {
		return
	}
	s.started = true
	r := s.req.refusal
	if r == nil && s.asContext().lateAtOnce() {
		r = expiredRefusal
	}
	if r == nil {
		if st := s.server.host.Handler.Refuses(s); st != nil {
			r = refused(http.StatusOK, st)
		}
	}
	if r == nil {
		s.h2.Go(s)
		return
	}
	s.refuse(r)
	s.h2.Done()
}

// forsake ends a call that was held when its connection ended within the batch. No handler has seen it.
func (s *ServerStream) forsake() {
	if !s.started {
		s.started = true
		s.release(false)
	}
}

// Run implements warm.Task: it serves the call.
func (s *ServerStream) Run() {
	defer s.handled()
	if !s.isLate() { // a function of its own, which keeps this frame small while the handler runs
		s.server.host.Handler.HandleStream(s)
	}
}

// isLate ends a call that comes too late for its handler, and reports whether it did.
func (s *ServerStream) isLate() bool {
	switch {
	case s.asContext().isOver() && !s.fed: // reset before it was started
		s.release(false)
	case s.asContext().lateAtOnce():
		if f, ok := s.refusalFrames(expiredRefusal); ok {
			_ = s.send(f) // there is nobody to tell of an error
		}
		s.release(true)
	default:
		return false
	}
	return true
}

// handled is called when the handler has returned. It is the last thing that the goroutine does.
func (s *ServerStream) handled() {
	if s.owner == nil { // else the owner calls Done
		s.h2.Leave()
		s.boundEnd()
	}
}
