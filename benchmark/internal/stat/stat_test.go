// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	for _, test := range []struct {
		values     []float64
		want       Interval
		confidence float64
	}{
		{[]float64{3}, Interval{Median: 3, Low: 3, High: 3}, 0},
		{[]float64{3, 1}, Interval{Median: 2, Low: 1, High: 3}, 0.5},
		{[]float64{5, 1, 2, 4, 3}, Interval{Median: 3, Low: 1, High: 5}, 0.9375},
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, Interval{Median: 5, Low: 2, High: 8}, 0.9609},
	} {
		got := Of(test.values)
		if math.Abs(got.Confidence-test.confidence) > 1e-4 {
			t.Errorf("Of(%v) has confidence %v, want %v", test.values, got.Confidence, test.confidence)
		}
		got.Confidence = 0
		if got != test.want {
			t.Errorf("Of(%v) = %+v, want %+v", test.values, got, test.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("there is a median of nothing")
	}
}

func TestIntervalsHoldTheMedianAsOftenAsTheySay(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const tries = 20_000
	for _, n := range []int{2, 5, 10, 21} {
		held := 0
		values := make([]float64, n)
		for range tries {
			for i := range values {
				values[i] = rnd.ExpFloat64() // skewed, with median ln 2
			}
			if Of(values).Holds(math.Ln2) {
				held++
			}
		}
		want := Of(values).Confidence
		if got := float64(held) / tries; math.Abs(got-want) > 0.015 {
			t.Errorf("n = %d: %.3f of the intervals hold the median, want %.3f", n, got, want)
		}
	}
}

func TestRatios(t *testing.T) {
	got := Ratios([]float64{1, 4, 9}, []float64{2, 0, 3, 7})
	if want := []float64{0.5, 3}; !slices.Equal(got, want) {
		t.Errorf("Ratios = %v, want %v", got, want)
	}
}
