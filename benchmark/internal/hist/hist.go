// SPDX-License-Identifier: Apache-2.0

// Package hist counts durations in buckets that are 1.6 % wide.
package hist

import (
	"math/bits"
	"time"
)

const (
	fine    = 6 // bits below the leading one that tell buckets apart
	buckets = (64 - fine) << fine
)

// Histogram counts durations. Its zero value is empty. It is for one goroutine at a time.
type Histogram struct {
	counts [buckets]uint64
	total  uint64
	sum    time.Duration
	max    time.Duration
}

// Summary is what there is to say about many durations.
type Summary struct {
	Count                    uint64
	Mean, P50, P90, P99, Max time.Duration
	P999                     time.Duration
}

// Add counts one duration; a negative one counts as 0.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d))]++
	h.total++
	h.sum += d
	h.max = max(h.max, d)
}

// Merge counts all that other counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.sum += other.sum
	h.max = max(h.max, other.max)
}

// Quantile is the duration that the share q of all durations do not exceed, 0 when there
// are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := uint64(q * float64(h.total))
	var seen uint64
	for i, n := range h.counts {
		if seen += n; n > 0 && seen > rank {
			return min(time.Duration(middle(i)), h.max)
		}
	}
	return h.max
}

// Summary sums up what was counted.
func (h *Histogram) Summary() Summary {
	if h.total == 0 {
		return Summary{}
	}
	return Summary{
		Count: h.total,
		Mean:  h.sum / time.Duration(h.total),
		P50:   h.Quantile(0.5),
		P90:   h.Quantile(0.9),
		P99:   h.Quantile(0.99),
		P999:  h.Quantile(0.999),
		Max:   h.max,
	}
}

// bucket is v itself while v is small; then the position of the leading one and the bits
// behind it.
func bucket(v uint64) int {
	if v < 1<<fine {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - fine
	return shift<<fine + int(v>>shift)
}

// middle is the value in the middle of a bucket.
func middle(i int) uint64 {
	if i < 2<<fine {
		return uint64(i)
	}
	shift := i>>fine - 1
	low := uint64(i-shift<<fine) << shift
	return low + 1<<shift/2
}
