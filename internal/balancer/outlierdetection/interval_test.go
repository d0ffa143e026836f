// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"testing"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/testutils"
)

// withEndpoints is a policy with endpoints all of whose RPCs have failed.
func withEndpoints(n int, config *Config) *policy {
	p := builder{}.Build(&channel{recorder: recorder{counts: map[string]int64{}}}, balancer.BuildOptions{}).(*policy)
	p.config = config
	for range n {
		e := newEndpoint(nil)
		e.failed.Store(10)
		p.endpoints = append(p.endpoints, e)
	}
	return p
}

func (p *policy) interval(now time.Time) (ejected int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.intervalLocked(now)
	p.stopLocked()
	for _, e := range p.endpoints {
		if e.ejected.Load() {
			ejected++
		}
	}
	return ejected
}

// TestA50MaxEjectionPercent: endpoints are ejected until the share is reached, of both methods and all intervals together.
func TestA50MaxEjectionPercent(t *testing.T) {
	for percent, want := range map[uint32]int{0: 0, 1: 1, 10: 1, 11: 2, 50: 5, 55: 6, 99: 10, 100: 10} {
		p := withEndpoints(10, &Config{Interval: time.Hour, MaxEjectionPercent: percent, BaseEjectionTime: time.Hour, FailurePercentage: &FailurePercentage{Threshold: 50, EnforcementPercentage: 100}})
		now := time.Now()
		for range 2 {
			if n := p.interval(now); n != want {
				t.Errorf("%d%%: %d of 10 are ejected, want %d", percent, n, want)
			}
			for _, e := range p.endpoints {
				e.failed.Store(10)
			}
		}
		// When they are back, as many are ejected again.
		p.endpoints[0].succeeded.Store(1000)
		p.interval(now.Add(time.Minute))
		for _, e := range p.endpoints {
			e.failed.Store(0)
		}
		if n := p.interval(now.Add(24 * time.Hour)); n != 0 {
			t.Errorf("%d%%: %d of 10 stay ejected", percent, n)
		}
		for _, e := range p.endpoints {
			e.failed.Store(10)
		}
		if n := p.interval(now.Add(25 * time.Hour)); n != want {
			t.Errorf("%d%%: %d of 10 are ejected anew, want %d", percent, n, want)
		}
		p.Close()
	}
}

// TestIntervalIsLinear: the end of an interval takes time for the endpoints, and not for their square, also if all are
// outliers: updates and new pickers wait for it.
func TestIntervalIsLinear(t *testing.T) {
	const n = 60_000
	for _, enforcement := range []uint32{0, 100} {
		p := withEndpoints(n, &Config{Interval: time.Hour, MaxEjectionPercent: 100, BaseEjectionTime: time.Hour, FailurePercentage: &FailurePercentage{Threshold: 50, EnforcementPercentage: enforcement}})
		start := testutils.CPUTime()
		if got := p.interval(time.Now()); got != n*int(enforcement)/100 {
			t.Errorf("%d are ejected", got)
		}
		if took := testutils.CPUTime() - start; took > 4*time.Second {
			t.Errorf("%d endpoints took %v", n, took)
		}
		p.Close()
	}
}
