// SPDX-License-Identifier: Apache-2.0

package wrr

import (
	"math"
	"testing"
)

func TestProportion(t *testing.T) {
	w := NewRandom()
	if got := w.Next(); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	weights := map[any]int64{"a": 1, "b": 3, "c": 6}
	w.Add("zero", 0)
	for _, name := range []string{"a", "b", "c"} {
		w.Add(name, weights[name])
	}
	w.Add("negative", -5)
	const picks = 20000
	count := make(map[any]float64)
	for range picks {
		count[w.Next()]++
	}
	if len(count) != len(weights) {
		t.Errorf("chosen: %v", count)
	}
	for name, n := range count {
		p := float64(weights[name]) / 10
		// Five standard deviations are left in one of three million runs.
		if bound := 5 * math.Sqrt(picks*p*(1-p)); math.Abs(n-picks*p) > bound {
			t.Errorf("%v: %v of %d, want %v give or take %v", name, n, picks, picks*p, bound)
		}
	}
}

func TestOne(t *testing.T) {
	w := NewRandom()
	w.Add(7, math.MaxInt64)
	w.Add(8, 1) // there is no room for its weight
	for range 100 {
		if got := w.Next(); got != 7 {
			t.Fatalf("%v", got)
		}
	}
}
