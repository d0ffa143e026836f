// SPDX-License-Identifier: Apache-2.0

package ballast

import "time"

const (
	// Collections are frequent after two runs of many collections of a busy process, each within a while.
	many  = 10
	while = time.Second
	// Collections are rare if there would be fewer than few of them between two looks, without ballast. How
	// many there are with ballast depends on the goal and on GOGC.
	few = 8
)

// rhythm is how collections come while there is no ballast.
type rhythm struct {
	since  time.Duration // when the first of n was
	n      int
	before state // when they last were often; zero: they were not
	at     time.Duration
}

// often records a collection of a busy process, and reports whether the last many came within a while.
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

// again is called after often has returned true. It reports whether collections were frequent twice in a
// row and were not asked for by the program. rate is how many bytes a second are allocated meanwhile.
func (r *rhythm) again(now time.Duration, s state) (rate uint64, ok bool) {
	before, at := r.before, r.at
	r.before, r.at = s, now
	if before.collections == 0 || s.collections-before.collections < many/2 {
		return 0, false
	}
	return perSecond(s.allocated-before.allocated, now-at), true
}

// perSecond returns how many bytes a second n bytes in a time are.
func perSecond(n uint64, in time.Duration) uint64 {
	return uint64(float64(n) / max(in, time.Millisecond).Seconds())
}
