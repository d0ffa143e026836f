// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
)

// tick is how often the pacer looks what is due.
const tick = 200 * time.Microsecond

// paced begins steps at a fixed rate, whether or not earlier ones ended, while there are
// idle callers; with none, what is due waits, and its wait is part of its latency, which
// counts from when it was due. So a stall shows as what those who call meanwhile feel.
func (r *Run) paced(steps []step, rate float64) {
	due := make(chan time.Time, backlog(rate))
	for _, s := range steps {
		r.wg.Go(func() { r.obey(s, due) })
	}
	defer close(due)

	// A thread of its own lets the pacer sleep for less than the runtime's timers can.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	for n := 0; r.phase.Load() < ending; {
		next := start.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if now := time.Now(); next.After(now) {
			sleep(max(next.Sub(now), tick))
			continue
		}
		due <- next
		n++
	}
}

// obey does a step for each call that is due.
func (r *Run) obey(s step, due <-chan time.Time) {
	var h hist.Histogram
	defer func() { r.merge(&h) }()
	for at := range due {
		if r.phase.Load() == ending {
			continue // what is left when the time is over was not asked for in it
		}
		if err := s(); err != nil {
			r.fail(err)
			return
		}
		if r.phase.Load() == measuring {
			h.Add(time.Since(at))
		}
	}
}

// backlog is how many calls may be late: those of ten seconds.
func backlog(rate float64) int { return int(rate*10) + 1 }
