// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/status"
)

// handedResponse is what the owner of a call behind net/http that was handed over has left for the
// goroutine of the request to do: see Serve.
type handedResponse struct {
	owner handover.Owner
	work  chan struct{} // receives when there is something to do; has room for one

	mu      sync.Mutex // the innermost lock
	waiting []Payload
	size    int            // the cost of these, and of the one that is being written
	room    handover.Waker // waits for room; nil: nobody does
	input   handover.Waker // waits for input, or for the end; nil: nobody does
	end     *status.Status
	ending  bool // end is known
}

const (
	// handedBuffer is how many bytes may wait before ArmRoom says that there is no room.
	handedBuffer = 128 << 10
	// handedOverhead is what a message takes in addition to its bytes: a place in waiting, a Buffer, and
	// what the pool rounds a small one up by. A program may send very many to a client that does not read.
	handedOverhead = 512
)

// handedCost returns how many bytes of memory a waiting message counts as.
func handedCost(p *Payload) int { return handedOverhead + p.Data.Len() }

// next removes the message to write next, and returns it.
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

// wrote is called after a message whose cost is n was written.
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

// add queues p for the goroutine of the request to write.
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

// finish makes the call end with st, once.
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

// wake wakes the owner if it waits, because there is input, or the call's context has ended. h is nil for a
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
