// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"math"
	"sort"
)

// readings has the weights of the endpoints at one moment.
type readings struct {
	weights     []float64 // 0: not usable
	early, late int       // how many are not usable yet, and how many are not usable any more
}

func (r readings) usable() int { return len(r.weights) - r.early - r.late }

// schedule chooses an endpoint for each number; the caller increments the number for each choice. A
// schedule does not change, so goroutines can use it concurrently without a lock.
//
// The range of 64-bit numbers is divided into one interval for each endpoint, with a length in
// proportion to its weight. The fractional parts of multiples of the golden ratio are spread so
// evenly over that range that in any series of choices each endpoint gets its share, at regular
// distances.
type schedule struct {
	count uint64
	ends  []uint64 // where the intervals end; nil: all have the same length
}

// golden is the golden ratio's fractional part times 2^64.
const golden = 0x9e3779b97f4a7c15

// newSchedule returns a schedule for one or more endpoints. Endpoints without a weight get the
// average weight of the others. If fewer than two endpoints have a weight, all get the same.
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
	s.ends[len(s.ends)-1] = math.MaxUint64 // corrects rounding errors
	if same {
		s.ends = nil
	}
	return s
}

// fraction returns f * 2^64 for f from 0 to 1, but at most MaxUint64.
func fraction(f float64) uint64 {
	if f = math.Ldexp(f, 64); f < math.MaxUint64 {
		return uint64(f)
	}
	return math.MaxUint64
}

// index returns the index of the endpoint for the n-th choice.
func (s *schedule) index(n uint64) int {
	if s.ends == nil {
		return int(n % s.count)
	}
	n *= golden
	i := sort.Search(len(s.ends), func(i int) bool { return n < s.ends[i] })
	return min(i, len(s.ends)-1)
}
