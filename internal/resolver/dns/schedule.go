// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"sync/atomic"
	"time"
)

var (
	minInterval atomic.Int64
	timeout     atomic.Int64
)

func init() {
	SetMinResolutionInterval(30 * time.Second)
	SetResolvingTimeout(30 * time.Second)
}

// SetMinResolutionInterval sets the shortest time from the end of one lookup to the start of the
// next one that ResolveNow causes.
func SetMinResolutionInterval(d time.Duration) { minInterval.Store(int64(d)) }

// SetResolvingTimeout sets the timeout of a lookup.
func SetResolvingTimeout(d time.Duration) { timeout.Store(int64(d)) }

// backoffFunc returns the pause after a number of retries.
type backoffFunc func(retries int) time.Duration

// phase is the phase of a resolver's life.
type phase uint8

const (
	// resting: the last lookup succeeded, and no other one is scheduled.
	resting phase = iota
	// waiting: the next lookup is scheduled.
	waiting
	// looking: a lookup is running.
	looking
	closed
)

// schedule decides when to make lookups. It has no clock. Its methods return whether a lookup is
// due and how long to wait before it.
type schedule struct {
	phase phase
	// again says that ResolveNow was called during a lookup, whose result may be older than the
	// call.
	again bool
	// earliest is the earliest time of the next lookup that ResolveNow causes.
	earliest time.Time
	failures int
}

// resolveNow asks for a lookup.
func (s *schedule) resolveNow(now time.Time) (wait time.Duration, due bool) {
	switch s.phase {
	case resting:
		s.phase = waiting
		return max(s.earliest.Sub(now), 0), true
	case looking:
		s.again = true
	}
	return 0, false
}

// begin begins the lookup that is due. It returns false if the schedule is closed.
func (s *schedule) begin() bool {
	if s.phase != waiting {
		return false
	}
	s.phase = looking
	return true
}

// succeeded ends a lookup. Another one follows after the interval if ResolveNow was called
// meanwhile.
func (s *schedule) succeeded(now time.Time, interval time.Duration) (wait time.Duration, due bool) {
	if s.phase == closed {
		return 0, false
	}
	s.failures = 0
	s.earliest = now.Add(interval)
	s.phase = resting
	if s.again {
		s.again = false
		return s.resolveNow(now)
	}
	return 0, false
}

// failed ends a lookup. Another one follows after the back-off in any case, as the channel does not
// ask for one after an error.
func (s *schedule) failed(backoff backoffFunc) (wait time.Duration, due bool) {
	if s.phase == closed {
		return 0, false
	}
	wait = backoff(s.failures)
	s.failures++
	s.again = false
	s.phase = waiting
	return wait, true
}
