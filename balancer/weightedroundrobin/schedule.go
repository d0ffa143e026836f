// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"math"
	"sort"
)

// readings are the weights of the endpoints at one time.
type readings struct {
	weights     []float64 // 0: not usable
	early, late int       // how many are not yet, and no longer usable
}

func (r readings) usable() int { return len(r.weights) - r.early - r.late }

// schedule chooses among endpoints by a number that grows with each choice. It does not
// change, so any number of goroutines use it without waiting for each other.
//
// The line of all 64-bit numbers is cut into one piece for each endpoint, as long as its
// weight. A number times the golden ratio, of which the whole part is dropped, walks
// around that line so evenly that each endpoint gets its share of any stretch of choices,
// well spaced.
type schedule struct {
	count uint64
	ends  []uint64 // where the pieces end; nil: all pieces have the same length
}

// golden is the golden ratio's fractional part times 2^64.
const golden = 0x9e3779b97f4a7c15

// newSchedule makes a schedule for one endpoint or more. Those without a weight get the
// average of the others; when fewer than two have one, all are the same.
func newSchedule(r readings) *schedule {
	s := &schedule{count: uint64(len(r.weights))}
	usable := r.usable()
	if usable < 2 {
		return s
	}
	sum := 0.0
	for _, w := range r.weights {
		sum += w
	}
	average := sum / float64(usable)
	total := average * float64(len(r.weights))
	s.ends = make([]uint64, len(r.weights))
	at, same := 0.0, true
	for i, w := range r.weights {
		if w == 0 {
			w = average
		}
		same = same && w == average
		at += w
		s.ends[i] = fraction(at / total)
	}
	s.ends[len(s.ends)-1] = math.MaxUint64 // whatever was lost in rounding
	if same {
		s.ends = nil
	}
	return s
}

// fraction returns f of 2^64, for f from 0 to 1.
func fraction(f float64) uint64 {
	if f = math.Ldexp(f, 64); f < math.MaxUint64 {
		return uint64(f)
	}
	return math.MaxUint64
}

// index returns which endpoint the n-th choice is.
func (s *schedule) index(n uint64) int {
	if s.ends == nil {
		return int(n % s.count)
	}
	n *= golden
	i := sort.Search(len(s.ends), func(i int) bool { return n < s.ends[i] })
	return min(i, len(s.ends)-1)
}
