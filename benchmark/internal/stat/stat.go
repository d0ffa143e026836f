// SPDX-License-Identifier: Apache-2.0

// Package stat sums up a few measurements without assuming how they are distributed.
package stat

import (
	"math"
	"slices"
)

// Interval is a median and where the true one lies with the given confidence: between
// two of the measurements, which for few of them are the smallest and the largest.
type Interval struct {
	Median, Low, High float64
	Confidence        float64 // that the true median lies in [Low, High]
}

// wanted is the confidence that an interval has when there are measurements enough.
const wanted = 0.95

// Of sums up values; it is NaN without any.
func Of(values []float64) Interval {
	n := len(values)
	if n == 0 {
		return Interval{Median: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	k := 0 // how many may be left out at each end
	for k+1 < (n+1)/2 && confidence(n, k+1) >= wanted {
		k++
	}
	return Interval{
		Median:     median(sorted),
		Low:        sorted[k],
		High:       sorted[n-1-k],
		Confidence: confidence(n, k),
	}
}

// Median is the median of values, NaN without any.
func Median(values []float64) float64 { return Of(values).Median }

// Holds says whether the interval has v in it.
func (i Interval) Holds(v float64) bool { return i.Low <= v && v <= i.High }

// Ratios divides each of a by the one of b at the same place, those measured together.
func Ratios(a, b []float64) []float64 {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			ratios = append(ratios, a[i]/b[i])
		}
	}
	return ratios
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// confidence is the probability that the true median lies between the (k+1)-th smallest
// and the (k+1)-th largest of n measurements: each falls on either side of it like a
// coin, so it is 1 - 2 P(at most k heads).
func confidence(n, k int) float64 {
	tail, ways := 0.0, 1.0
	for i := 0; i <= k; i++ {
		tail += ways
		ways *= float64(n-i) / float64(i+1)
	}
	return max(1-2*tail/math.Pow(2, float64(n)), 0)
}
