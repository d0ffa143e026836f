// SPDX-License-Identifier: Apache-2.0

// Package traffic is calls and streams with checksums, compressed and not, retried, cancelled, over every kind
// of connection, while sockets are closed below them. It is built on each implementation, and sees its
// public API alone.
package traffic

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Tally counts calls, and collects what is found.
type Tally struct {
	Calls, Failed, Streams atomic.Int64

	// OnHang, if it is there, is told once of a call that takes very long, after Stacks.
	OnHang func()

	once sync.Once // of Stacks

	mu     sync.Mutex
	faults []string
}

// Fault notes what may not happen; the first of them are kept.
func (t *Tally) Fault(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.faults) < 20 {
		t.faults = append(t.faults, fmt.Sprintf(format, args...))
	}
}

// Faults returns what was noted.
func (t *Tally) Faults() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.faults)
}

// Stacks prints what everyone is doing, once.
func (t *Tally) Stacks() {
	t.once.Do(func() {
		b := make([]byte, 4<<20)
		fmt.Fprintf(os.Stderr, "%s\n", b[:runtime.Stack(b, true)])
		if t.OnHang != nil {
			t.OnHang()
		}
	})
}
