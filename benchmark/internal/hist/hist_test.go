// SPDX-License-Identifier: Apache-2.0

package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestEveryValueIsNearTheMiddleOfItsBucket(t *testing.T) {
	for shift := range 63 {
		for range 100 {
			v := uint64(1)<<shift + rand.Uint64N(uint64(1)<<shift)
			got := middle(bucket(v))
			if off := math.Abs(float64(got)-float64(v)) / float64(v); off > 0.01 {
				t.Fatalf("%d is counted as %d", v, got)
			}
		}
	}
}

func TestBucketsAreInOrder(t *testing.T) {
	last := -1
	for v := range uint64(1 << 14) {
		b := bucket(v)
		if b != last && b != last+1 {
			t.Fatalf("bucket(%d) = %d after %d", v, b, last)
		}
		last = b
	}
	if b := bucket(math.MaxInt64); b >= buckets {
		t.Fatalf("bucket of the largest duration is %d of %d", b, buckets)
	}
}

func TestQuantiles(t *testing.T) {
	var h, odd, even Histogram
	var all []time.Duration
	for i := range 10_000 {
		d := time.Duration(rand.ExpFloat64() * float64(time.Millisecond))
		all = append(all, d)
		if i%2 == 0 {
			even.Add(d)
		} else {
			odd.Add(d)
		}
	}
	h.Merge(&odd)
	h.Merge(&even)
	slices.Sort(all)
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999} {
		want := all[int(q*float64(len(all)))]
		got := h.Quantile(q)
		if off := math.Abs(float64(got - want)); off > 0.02*float64(want)+1 {
			t.Errorf("quantile %v = %v, want about %v", q, got, want)
		}
	}
	if s := h.Summary(); s.Count != 10_000 || s.Max != all[len(all)-1] {
		t.Errorf("summary %+v, want 10000 values up to %v", s, all[len(all)-1])
	}
	if s := new(Histogram).Summary(); s != (Summary{}) {
		t.Errorf("summary of nothing = %+v", s)
	}
}
