// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"google.golang.org/grpc/internal/xxh64"
)

// member is an endpoint as the ring sees it.
type member struct {
	key    string
	weight uint64 // above zero
}

// ring has places from 0 to 2^64, in order. It does not change.
type ring struct {
	hashes []uint64
	owners []uint32 // index of the member at each place
}

// newRing places each member several times, by its weight, at the hashes of its key and
// numbers. That is Envoy's ring (gRFC A42): the lightest member gets a whole number of
// places, so many that there are minSize of all if that is not above maxSize.
func newRing(members []member, c *config) ring {
	type place struct {
		hash  uint64
		owner uint32
	}
	total, lightest := 0.0, math.Inf(1)
	for _, m := range members {
		total += float64(m.weight)
		lightest = min(lightest, float64(m.weight))
	}
	lightest /= total
	scale := min(math.Ceil(lightest*float64(c.minSize))/lightest, float64(c.maxSize))

	places := make([]place, 0, int(math.Ceil(scale)))
	due, text := 0.0, []byte(nil)
	for i, m := range members {
		due += scale * float64(m.weight) / total
		text = append(append(text[:0], m.key...), '_')
		stem := len(text)
		for n := int64(0); float64(len(places)) < due; n++ {
			text = strconv.AppendInt(text[:stem], n, 10)
			places = append(places, place{xxh64.Sum(text), uint32(i)})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.hash, b.hash) })
	r := ring{make([]uint64, len(places)), make([]uint32, len(places))}
	for i, p := range places {
		r.hashes[i], r.owners[i] = p.hash, p.owner
	}
	return r
}

func (r ring) size() int { return len(r.hashes) }

// find returns the index of the place that a hash belongs to: the first that is not
// before it.
func (r ring) find(hash uint64) int {
	i, _ := slices.BinarySearch(r.hashes, hash)
	if i == len(r.hashes) {
		return 0
	}
	return i
}

// owner returns the index of the member at a place, counted round the ring.
func (r ring) owner(i int) uint32 { return r.owners[i%len(r.owners)] }
