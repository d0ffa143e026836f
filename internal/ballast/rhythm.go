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
	since time.Duration // when the first of n was
	n     int
	known uint64 // how many there had been when they last were often; 0: they were not
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
	r.known = 0
	return false
}

// automatic reports whether they were often twice, and were not asked for by the program. There
// have been so many that were not.
func (r *rhythm) automatic(collections uint64) bool {
	before := r.known
	r.known = collections
	return before > 0 && collections-before >= many/2
}
