// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"fmt"
	"math/bits"
	"slices"
)

const (
	// maxWaste and freeWaste say when an array is too large for a request: if it is larger than maxWaste
	// times the request, and larger than freeWaste bytes.
	maxWaste  = 4
	freeWaste = 4 << 10
)

// Tiered is a pool of a few fixed sizes.
//
// A request takes an array of the smallest size that holds it. Where that array
// would be larger than both 4 KiB and four times the request, and above the largest
// size, the request gets a plain allocation of its own, which Put drops: one small
// message must not keep a large array alive. (With sizes that are powers of two
// no array has twice the request or more, apart from the smallest size.)
//
// Put keeps an array only if its capacity is exactly one of the sizes. Any other
// array is accepted and dropped, also one which never came from the pool.
type Tiered struct {
	classes []*class
	first   [bits.UintSize + 1]uint8 // by the bit length of the request: where to begin looking
	plain   plainCount
	tracker tracker
}

// NewTiered returns a pool of the given sizes in bytes, in any order. Sizes that are
// not positive are ignored, as are repetitions. Of more than 255 sizes the
// smallest 255 are used.
func NewTiered(sizes ...int) *Tiered {
	sizes = slices.DeleteFunc(slices.Clone(sizes), func(n int) bool { return n <= 0 })
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	sizes = sizes[:min(len(sizes), 255)]

	t := &Tiered{classes: make([]*class, len(sizes))}
	for i, size := range sizes {
		t.classes[i] = newClass(size)
	}
	// The smallest request with a bit length of l (of n-1) is 2^(l-1)+1.
	for l := range t.first {
		i := 0
		for i < len(sizes) && bits.Len(uint(sizes[i]-1)) < l {
			i++
		}
		t.first[l] = uint8(i)
	}
	return t
}

// NewBinaryTiered returns a pool of the sizes 2^e for the given exponents. It fails
// for an exponent whose power does not fit an int.
func NewBinaryTiered(exponents ...uint8) (*Tiered, error) {
	sizes := make([]int, 0, len(exponents))
	for _, e := range exponents {
		if e > bits.UintSize-2 {
			return nil, fmt.Errorf("mem: size 2^%d is beyond what this platform addresses (at most 2^%d)", e, bits.UintSize-2)
		}
		sizes = append(sizes, 1<<e)
	}
	return NewTiered(sizes...), nil
}

// Get lends a buffer of the given length; a negative one panics, as make does. The
// caller owns it until Put; forgetting it costs no memory, but shows in Stats.
func (t *Tiered) Get(length int) *[]byte {
	c := t.classFor(length)
	if c == nil {
		return t.alone(length)
	}
	b, reused := c.get()
	t.tracker.lend(b, reused)
	*b = (*b)[:length]
	return b
}

// GetExact is Get for a caller that will probably Forget the buffer, so that somebody keeps it. If an array
// of a class would be more than a fifth larger than length, the buffer has an array of just that size. Put
// drops that, so after a Put the next requests of about that size are served as by Get.
func (t *Tiered) GetExact(length int) *[]byte {
	if c := t.classFor(length); c != nil && c.wastes(length) && c.makesExact() {
		return t.alone(length)
	}
	return t.Get(length)
}

// alone lends an array that is of no class.
func (t *Tiered) alone(length int) *[]byte {
	b := fresh(length)
	t.plain.lent(cap(b))
	t.tracker.lend(&b, false)
	return &b
}

// Put takes a buffer back; nil is ignored. Its length doesn't matter. The caller must
// not touch the array or the header afterwards.
func (t *Tiered) Put(b *[]byte) {
	if b == nil {
		return
	}
	keep := t.tracker.giveBack(b)
	if c := t.classOf(cap(*b)); c != nil {
		c.put(b, keep)
		return
	}
	t.plain.returned(cap(*b))
	if c := t.classFor(cap(*b)); c != nil {
		c.inexact.Store(inexactRuns)
	}
}

// Forget counts b as returned, but leaves it to the caller for good: no pool has it any more. It
// must have come from Get.
func (t *Tiered) Forget(b *[]byte) {
	t.tracker.forget(b)
	if c := t.classOf(cap(*b)); c != nil {
		c.put(b, false)
		return
	}
	t.plain.returned(cap(*b))
	if c := t.classFor(cap(*b)); c != nil {
		c.inexact.Store(0)
	}
}

// Stats reports what is lent at the moment. It walks all counters and is meant
// for tests and for humans, not for every RPC.
func (t *Tiered) Stats() Stats {
	s := t.plain.stats()
	for _, c := range t.classes {
		s = s.plus(c.stats())
	}
	return s
}

// classFor returns the class that serves a request, nil for a plain allocation.
func (t *Tiered) classFor(length int) *class {
	if length < 0 {
		return nil
	}
	c := t.smallest(length)
	if c == nil || c.size > freeWaste && c.size/maxWaste > length {
		return nil
	}
	return c
}

// classOf returns the class with arrays of exactly this capacity, or nil.
func (t *Tiered) classOf(capacity int) *class {
	if c := t.smallest(capacity); c != nil && c.size == capacity {
		return c
	}
	return nil
}

// smallest returns the smallest class of at least n bytes, n >= 0.
func (t *Tiered) smallest(n int) *class {
	for i := int(t.first[bits.Len(uint(max(n, 1)-1))]); i < len(t.classes); i++ {
		if c := t.classes[i]; c.size >= n {
			return c
		}
	}
	return nil
}
