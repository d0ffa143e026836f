// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/attack/internal/cpu"
	"google.golang.org/grpc/attack/internal/orders"
)

// maxGo is the largest number of goroutines that was seen.
var maxGo atomic.Int64

// watch looks at the number of goroutines until the process ends.
func watch() {
	for range time.Tick(20 * time.Millisecond) {
		maxGo.Store(max(maxGo.Load(), int64(runtime.NumGoroutine())))
	}
}

// sample measures what the process holds, but for memory that nobody touches. It collects three
// times: what pools keep needs more than one collection to let go.
func sample() orders.Sample {
	s := orders.Sample{CPU: cpu.Used(), Goroutines: runtime.NumGoroutine(), MaxGo: int(maxGo.Load())}
	s.MaxGo = max(s.MaxGo, s.Goroutines)
	for range 3 {
		runtime.GC()
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	s.Heap = int64(live[0].Value.Uint64()) - ballast()
	s.Then = cpu.Used()
	return s
}
