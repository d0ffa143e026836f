// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/status"
)

// handedResponse is what the owner of a call behind net/http, which was handed over, has left
// to do for the goroutine of the request: see Serve.
type handedResponse struct {
	owner handover.Owner
	work  chan struct{} // there is something to do; holds one

	mu      sync.Mutex // the innermost
	waiting []Payload
	size    int            // what these cost, and the one that is being written
	room    handover.Waker // waits for room; nil: nobody does
	input   handover.Waker // waits for input, or for the end; nil: nobody does
	end     *status.Status
	ending  bool // end is known
}

const (
	// handedBuffer is how many bytes may wait before ArmRoom says that there is no room.
	handedBuffer = 128 << 10
	// handedOverhead is what a message takes beside its bytes: a place in waiting, a Buffer, and what
	// the pool rounds a small one up by. A program may send very many to a client that does not read.
	handedOverhead = 512
)

// handedCost is how many bytes of memory a message that waits counts.
func handedCost(p *Payload) int { return handedOverhead + p.Data.Len() }

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

// wrote follows the writing of a message that counted n.
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
	h.size += handedCost(&p)
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

// wake wakes whoever waits: there is input, or the call's context has ended. h is nil for a
// call that was not handed over.
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
