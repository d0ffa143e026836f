// SPDX-License-Identifier: Apache-2.0

package stress

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// run collects what is found.
type run struct {
	calls, failed, streams, parked atomic.Int64

	once sync.Once // of stacks

	mu     sync.Mutex
	faults []string
}

// fault notes what may not happen; the first of them are kept.
func (r *run) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) < 20 {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

// stacks prints what everyone is doing, once.
func (r *run) stacks() {
	r.once.Do(func() {
		b := make([]byte, 4<<20)
		fmt.Fprintf(os.Stderr, "%s\n", b[:runtime.Stack(b, true)])
	})
}
