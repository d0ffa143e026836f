// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/stat"
)

// moment is a rate in bytes a second, over the window that ends there.
type moment struct {
	At   time.Duration // since the stream began
	Rate float64
}

// ratesOver are the rates of the windows that end at each point since start. Points count
// messages of size bytes.
func ratesOver(points []ops.Point, start int64, size int, window time.Duration) []moment {
	var all []moment
	first := 0
	for i, p := range points {
		if p.At < start {
			first = i
			continue
		}
		for first+1 < i && points[first+1].At <= p.At-int64(window) {
			first++
		}
		from := points[first]
		if from.At > p.At-int64(window) { // the stream is younger than the window
			from.At = p.At - int64(window)
		}
		rate := float64(p.Count-from.Count) * float64(size) / time.Duration(p.At-from.At).Seconds()
		all = append(all, moment{At: time.Duration(p.At - start), Rate: rate})
	}
	return all
}

// steady is the median of the rates in the second half.
func steady(all []moment) float64 {
	if len(all) == 0 {
		return 0
	}
	half := all[len(all)-1].At / 2
	var late []float64
	for _, m := range all {
		if m.At >= half {
			late = append(late, m.Rate)
		}
	}
	return stat.Median(late)
}

// reached is when a rate is reached for the first time; false if it never is.
func reached(all []moment, rate float64) (time.Duration, bool) {
	i := slices.IndexFunc(all, func(m moment) bool { return m.Rate >= rate })
	if i < 0 {
		return 0, false
	}
	return all[i].At, true
}
