// SPDX-License-Identifier: Apache-2.0

package ballast

import "time"

const (
	// many collections of a busy process, twice in a row, within a while each are often.
	many  = 10
	while = time.Second
	// few are they if there would be less between two looks, without ballast. How many there are
	// with it depends on the goal and on GOGC.
	few = 8
)

// rhythm is how collections come while there is no ballast.
type rhythm struct {
	since  time.Duration // when the first of n was
	n      int
	before state // when they last were often; zero: they were not
	at     time.Duration
}

// often notes a collection of a busy process, and reports whether they come often.
func (r *rhythm) often(now time.Duration) bool {
	if r.n++; r.n == 1 {
		r.since = now
	}
	if r.n < many {
		return false
	}
	r.n = 0
	if now-r.since < while {
		return true
	}
	r.before = state{}
	return false
}

// again follows often. It reports whether they were often twice, and were not asked for by the
// program, and how much is allocated meanwhile, in bytes a second.
func (r *rhythm) again(now time.Duration, s state) (rate uint64, ok bool) {
	before, at := r.before, r.at
	r.before, r.at = s, now
	if before.collections == 0 || s.collections-before.collections < many/2 {
		return 0, false
	}
	return perSecond(s.allocated-before.allocated, now-at), true
}

// perSecond is how many bytes a second n are, in a time.
func perSecond(n uint64, in time.Duration) uint64 {
	return uint64(float64(n) / max(in, time.Millisecond).Seconds())
}
