// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"sync"
	"sync/atomic"
)

// handlerCount counts the handlers that run. enter and leave are one atomic operation each,
// as long as nobody waits.
type handlerCount struct {
	n       atomic.Int64
	refused atomic.Bool // no more may enter

	mu   sync.Mutex
	none sync.Cond
}

// enter reports whether a handler may run; each that may has to leave.
func (h *handlerCount) enter() bool {
	h.n.Add(1)
	// Whoever waits has set refused before it looks at n: it sees this handler, or
	// the handler sees it.
	if h.refused.Load() {
		h.leave()
		return false
	}
	return true
}

func (h *handlerCount) leave() {
	if h.n.Add(-1) == 0 && h.refused.Load() {
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
	for h.n.Load() > 0 {
		h.none.Wait()
	}
}
