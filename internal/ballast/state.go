// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"math"
	"runtime/metrics"
)

// limitShare is how many times the goal a memory limit has to be for there to be ballast.
const limitShare = 16

// state is what the runtime says of its collector.
type state struct {
	live        uint64 // bytes that the last collection found to live
	percent     uint64 // GOGC; off: math.MaxUint64
	limit       uint64 // GOMEMLIMIT in bytes; none: math.MaxInt64
	collections uint64 // that nobody asked for
}

func readState() state {
	samples := [...]metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/gogc:percent"},
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/gc/cycles/automatic:gc-cycles"},
	}
	metrics.Read(samples[:])
	var values [len(samples)]uint64
	for i, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return state{percent: math.MaxUint64} // another runtime than those known
		}
		values[i] = s.Value.Uint64()
	}
	return state{live: values[0], percent: values[1], limit: values[2], collections: values[3]}
}

// missing is how many bytes have to live, beside what does, for the collector to begin at a heap
// of goal bytes. So many of what lives are ballast.
func (s state) missing(goal, ballast uint64) uint64 {
	if s.percent == math.MaxUint64 || s.limit/limitShare < goal {
		return 0
	}
	enough := goal * 100 / (100 + s.percent)
	return enough - min(s.live-min(ballast, s.live), enough)
}
