// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"math"
	"runtime/metrics"
)

// limitShare is how many times as large as the goal a memory limit has to be for there to be ballast.
const limitShare = 16

// leastHeap is the smallest heap at which a collection begins, with the default GOGC.
const leastHeap = 4 << 20

// state is what the runtime says of its collector.
type state struct {
	live        uint64 // bytes that the last collection found to live
	percent     uint64 // GOGC; off: math.MaxUint64
	limit       uint64 // GOMEMLIMIT in bytes; none: math.MaxInt64
	collections uint64 // automatic ones, which the program did not ask for
	allocated   uint64 // bytes, since the process began
}

func readState() state {
	samples := [...]metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/gogc:percent"},
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/gc/cycles/automatic:gc-cycles"},
		{Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(samples[:])
	var values [len(samples)]uint64
	for i, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return state{percent: math.MaxUint64} // another runtime than those known
		}
		values[i] = s.Value.Uint64()
	}
	return state{live: values[0], percent: values[1], limit: values[2], collections: values[3], allocated: values[4]}
}

// missing returns how many bytes have to be live, in addition to the process's own, for a collection to
// begin at a heap of goal bytes. ballast is how many of the live bytes are ballast.
func (s state) missing(goal, ballast uint64) uint64 {
	if s.percent == math.MaxUint64 || s.limit/limitShare < goal {
		return 0
	}
	enough := goal * 100 / (100 + s.percent)
	return enough - min(s.live-min(ballast, s.live), enough)
}

// step returns how many bytes are allocated from one collection to the next if there is no ballast. ballast
// is how many of the live bytes are ballast.
func (s state) step(ballast uint64) uint64 {
	own := s.live - min(ballast, s.live)
	return max(leastHeap*s.percent/100, own+own*s.percent/100) - own
}
