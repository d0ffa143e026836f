// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin

import (
	"math"
	"math/rand/v2"
	"testing"
)

func read(weights ...float64) readings {
	r := readings{weights: weights}
	for _, w := range weights {
		if w == 0 {
			r.early++
		}
	}
	return r
}

func TestShares(t *testing.T) {
	for _, tt := range []struct {
		weights []float64
		shares  []float64 // of their sum
	}{
		{[]float64{1, 2}, []float64{1, 2}},
		{[]float64{1, 1, 1}, []float64{1, 1, 1}},
		{[]float64{5, 0, 0}, []float64{1, 1, 1}}, // one has a weight, which is too few
		{[]float64{0, 0}, []float64{1, 1}},
		{[]float64{7}, []float64{1}},
		{[]float64{0}, []float64{1}},
		{[]float64{1, 0, 3}, []float64{1, 2, 3}},
		{[]float64{1, 1, 0, 98}, []float64{1, 1, 100. / 3, 98}},
		{[]float64{1e-300, 1e-300, 2e-300}, []float64{1, 1, 2}},
		{[]float64{math.MaxFloat32, math.MaxFloat32 / 2}, []float64{2, 1}},
		{[]float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}, []float64{1, 2, 3, 4, 5, 6, 7}},
	} {
		s := newSchedule(read(tt.weights...))
		sum := 0.0
		for _, share := range tt.shares {
			sum += share
		}
		count := make([]int, len(tt.weights))
		start := rand.Uint64()
		const choices = 10000
		for n := range uint64(choices) {
			count[s.index(start+n)]++
			// Every stretch from the start has its shares, within a few choices.
			if n%500 == 499 {
				for i, share := range tt.shares {
					want := float64(n+1) * share / sum
					if math.Abs(float64(count[i])-want) > 6 {
						t.Errorf("%v from %d: endpoint %d was chosen %d times of %d, want %v", tt.weights, start, i, count[i], n+1, want)
					}
				}
			}
		}
	}
}

func TestSpacing(t *testing.T) {
	s := newSchedule(read(1, 4)) // one of five
	last, start := uint64(0), rand.Uint64()
	for n := range uint64(10000) {
		if s.index(start+n) != 0 {
			continue
		}
		if gap := n - last; last > 0 && (gap < 2 || gap > 9) {
			t.Fatalf("from %d: %d choices between two of the first", start, gap)
		}
		last = n
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, uint64(7))
	f.Add(0.0, 0.0, 0.0, uint64(math.MaxUint64))
	f.Add(1e-300, 1e30, 0.0, uint64(0))
	f.Fuzz(func(t *testing.T, a, b, c float64, n uint64) {
		for _, w := range []float64{a, b, c} {
			if !(w >= 0 && w <= math.MaxFloat32) {
				return
			}
		}
		if i := newSchedule(read(a, b, c)).index(n); i < 0 || i > 2 {
			t.Errorf("index %d", i)
		}
	})
}
