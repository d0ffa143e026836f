// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
)

// step does what is counted as one, and waits for its end. A step is for one goroutine at
// a time.
type step func() error

// Phases of a run, in order.
const (
	warming int32 = iota
	measuring
	ending
)

// Run is a load in progress.
type Run struct {
	phase  atomic.Int32
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	total hist.Histogram // merged from the callers as they end
	err   error          // the first that a caller met before the end
}

func (r *Run) merge(h *hist.Histogram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Merge(h)
}

// add is for callers who call seldom: a histogram of each one's own is 30 KB.
func (r *Run) add(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Add(d)
}

func (r *Run) fail(err error) {
	if r.phase.Load() == ending {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}
