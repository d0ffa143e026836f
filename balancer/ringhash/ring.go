// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/internal/xxh64"
)

// member is an endpoint's key and weight in the ring.
type member struct {
	key    string
	weight uint64 // above zero
}

// ring is a hash ring: its places are hashes from 0 to 2^64-1, in ascending order. It does not
// change.
type ring struct {
	hashes []uint64
	owners []uint32 // index of the member at each place
}

// newRing gives each member a number of places in proportion to its weight. The places are the
// hashes of the member's key with the numbers 0, 1, 2, ... appended. This is Envoy's ring (gRFC
// A42): the lightest member gets a whole number of places, and the ring has at least minSize and at
// most maxSize places.
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
	for _, i := range byKey(members) {
		m := members[i]
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

// byKey returns the indexes of the members in the order of their keys: who gets a place that is due to several depends
// on the order, and must not depend on that of the resolver.
func byKey(members []member) []int {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(members[a].key, members[b].key) })
	return order
}

func (r ring) size() int { return len(r.hashes) }

// find returns the index of a hash's place: the first one that is equal to the hash or above it, or
// else place 0.
func (r ring) find(hash uint64) int {
	i, _ := slices.BinarySearch(r.hashes, hash)
	if i == len(r.hashes) {
		return 0
	}
	return i
}

// owner returns the index of the member at place i, modulo the size of the ring.
func (r ring) owner(i int) uint32 { return r.owners[i%len(r.owners)] }
