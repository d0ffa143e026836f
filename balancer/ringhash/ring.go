// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"

	"google.golang.org/grpc/internal/xxh64"
)

// member is an endpoint as the ring sees it.
type member struct {
	key    string
	weight uint64 // above zero
}

// ring has entries at places from 0 to 2^64, in order. It does not change.
type ring []place

type place struct {
	hash   uint64
	member int // index
}

// newRing places each member several times, by its weight, at the hashes of its key and
// numbers. That is Envoy's ring (gRFC A42): the lightest member gets a whole number of
// places, so many that there are minSize of all if that is not above maxSize.
func newRing(members []member, c *config) ring {
	total, lightest := 0.0, math.Inf(1)
	for _, m := range members {
		total += float64(m.weight)
		lightest = min(lightest, float64(m.weight))
	}
	lightest /= total
	scale := min(math.Ceil(lightest*float64(c.minSize))/lightest, float64(c.maxSize))

	r := make(ring, 0, int(math.Ceil(scale)))
	due, text := 0.0, []byte(nil)
	for i, m := range members {
		due += scale * float64(m.weight) / total
		text = append(append(text[:0], m.key...), '_')
		stem := len(text)
		for n := int64(0); float64(len(r)) < due; n++ {
			text = strconv.AppendInt(text[:stem], n, 10)
			r = append(r, place{xxh64.Sum(text), i})
		}
	}
	slices.SortFunc(r, func(a, b place) int { return cmp.Compare(a.hash, b.hash) })
	return r
}

// find returns the index of the place that a hash belongs to: the first that is not
// before it.
func (r ring) find(hash uint64) int {
	i := sort.Search(len(r), func(i int) bool { return r[i].hash >= hash })
	if i == len(r) {
		return 0
	}
	return i
}
