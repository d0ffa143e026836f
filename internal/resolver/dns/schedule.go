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

// SetMinResolutionInterval sets the least time from the end of one lookup to the start
// of the next that ResolveNow causes.
func SetMinResolutionInterval(d time.Duration) { minInterval.Store(int64(d)) }

// SetResolvingTimeout sets the longest that a lookup may take.
func SetResolvingTimeout(d time.Duration) { timeout.Store(int64(d)) }

// backoffFunc returns the pause after the given number of retries.
type backoffFunc func(retries int) time.Duration

// phase is where a resolver is between two lookups.
type phase uint8

const (
	// resting: the last lookup succeeded, and nobody wants another.
	resting phase = iota
	// waiting: the next lookup has its time.
	waiting
	// looking: a lookup is running.
	looking
	closed
)

// schedule decides when to look up. It has no clock: methods that say when the next
// lookup is due return how long to wait, and whether one is due at all.
type schedule struct {
	phase phase
	// again says that ResolveNow came during a lookup: what it finds may be older
	// than the request.
	again bool
	// earliest is when ResolveNow may cause the next lookup.
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

// begin says whether the lookup whose time has come is still wanted.
func (s *schedule) begin() bool {
	if s.phase != waiting {
		return false
	}
	s.phase = looking
	return true
}

// succeeded ends a lookup. Another follows after the interval if one is wanted.
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

// failed ends a lookup. Another follows after the back-off, wanted or not: the channel
// does not ask.
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
