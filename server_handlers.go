// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"google.golang.org/grpc/internal/tally"
	"google.golang.org/grpc/peer"
)

// handlerCount counts the handlers that run. enter and leave are one atomic operation each,
// as long as nobody waits, on what the calls of one connection share.
type handlerCount struct {
	n       tally.Tally
	refused atomic.Bool // no more may enter

	mu   sync.Mutex
	none sync.Cond
}

// enter reports whether a handler may run, of a call from p; each that may has to leave.
func (h *handlerCount) enter(p *peer.Peer) bool {
	h.n.At(unsafe.Pointer(p)).Add(1)
	// Whoever waits has set refused before it looks at n: it sees this handler, or
	// the handler sees it.
	if h.refused.Load() {
		h.leave(p)
		return false
	}
	return true
}

func (h *handlerCount) leave(p *peer.Peer) {
	h.n.At(unsafe.Pointer(p)).Add(-1)
	if h.refused.Load() {
		h.mu.Lock()
		h.none.Broadcast()
		h.mu.Unlock()
	}
}

func (h *handlerCount) refuse() { h.refused.Store(true) }

// wait follows refuse, and waits until no handler runs.
func (h *handlerCount) wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.n.Sum() > 0 {
		h.none.Wait()
	}
}
