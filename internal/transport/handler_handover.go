// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/status"
)

// A call behind net/http that was handed over keeps the goroutine of its request, which must
// not return before the call has ended, and which writes: a ResponseWriter can only be written
// by waiting, and nobody waits who sends on a stream that was handed over.

// handedResponse is what waits for that goroutine.
type handedResponse struct {
	owner handover.Owner
	work  chan struct{} // there is something to do; holds one

	mu      sync.Mutex // the innermost
	waiting []Payload
	size    int            // bytes of these, and of the one that is being written
	room    handover.Waker // who waits for room; nil: nobody
	input   handover.Waker // who waits for input, or for the end; nil: nobody
	end     *status.Status
	ending  bool // end is known
}

// handedBuffer is how many bytes may wait before ArmRoom says that there is no room.
const handedBuffer = 128 << 10

// HandOver is as that of ServerStream. Serve has to be called then.
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

// Owner is as that of ServerStream.
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
			n := p.Data.Len()
			// What was added has its headers settled. Nobody else writes.
			if s.write(p) != nil {
				s.cancel() // the owner finds out, and ends the call
			}
			p.Data.Free()
			h.wrote(n)
		}
		if st, ok := h.last(); ok {
			s.mu.Lock()
			s.finish(st)
			s.mu.Unlock()
			return
		}
		<-h.work
	}
}

// next takes what is to be written next.
func (h *handedResponse) next() (Payload, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		h.waiting = nil
		return Payload{}, false
	}
	p := h.waiting[0]
	h.waiting[0] = Payload{}
	h.waiting = h.waiting[1:]
	return p, true
}

// wrote follows the writing of n bytes.
func (h *handedResponse) wrote(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.size -= n
	if h.size < handedBuffer && h.room != nil {
		h.room.Wake()
		h.room = nil
	}
}

// last returns the status that the call ends with, once everything before it is written.
func (h *handedResponse) last() (*status.Status, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end, h.ending && len(h.waiting) == 0
}

// add has p written.
func (h *handedResponse) add(p Payload) error {
	h.mu.Lock()
	if h.ending {
		h.mu.Unlock()
		p.Data.Free()
		return errFinished
	}
	h.waiting = append(h.waiting, p)
	h.size += p.Data.Len()
	h.mu.Unlock()
	h.signal()
	return nil
}

// finish has the call end with st, once.
func (h *handedResponse) finish(st *status.Status) error {
	h.mu.Lock()
	if h.ending {
		h.mu.Unlock()
		return errFinished
	}
	h.end, h.ending = st, true
	h.mu.Unlock()
	h.signal()
	return nil
}

func (h *handedResponse) signal() {
	select {
	case h.work <- struct{}{}:
	default:
	}
}

// wake wakes who waits for anything: there is input, or the call's context has ended. nil is
// a call that was not handed over.
func (h *handedResponse) wake() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range []*handover.Waker{&h.input, &h.room} {
		if *w != nil {
			(*w).Wake()
			*w = nil
		}
	}
}

// Arm is as that of ServerStream.
func (s *HandlerStream) Arm(w handover.Waker, input bool) handover.Events {
	h := s.handed.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return handover.Over
	case input && (s.body.err != nil || len(s.body.messages) > 0):
		return handover.Input
	}
	h.input = w
	return 0
}

// ArmRoom is as that of ServerStream.
func (s *HandlerStream) ArmRoom(w handover.Waker) bool {
	h := s.handed.Load()
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

// Fate is as that of ServerStream.
func (s *HandlerStream) Fate() error { return status.FromContextError(s.ctx.Err()).Err() }

// Done is as that of ServerStream.
func (s *HandlerStream) Done() {}

// send is Send for a call that was handed over. mu is held.
func (s *HandlerStream) send(h *handedResponse, p Payload) error {
	if err := s.ctx.Err(); err != nil {
		p.Data.Free()
		return status.FromContextError(err).Err()
	}
	if s.headers == headersUnsent {
		s.setHeaders()
	}
	return h.add(p)
}
