// SPDX-License-Identifier: Apache-2.0

// Package wrr chooses among items in proportion to their weights.
package wrr

import (
	"math/rand/v2"
	"sort"
)

// WRR is a set of items to choose from. The caller adds all items before it calls Next, which is
// safe for concurrent use.
type WRR interface {
	// Add adds an item. An item whose weight is not above zero is never chosen.
	Add(item any, weight int64)
	// Next returns the item that it chooses, or nil if there is none.
	Next() any
}

// NewRandom returns a WRR that chooses at random. Its choices don't depend on each other.
func NewRandom() WRR {
	return &random{}
}

type random struct {
	items []item
}

type item struct {
	value any
	end   int64 // the sum of the weights of this and all previous items
}

func (r *random) total() int64 {
	if n := len(r.items); n > 0 {
		return r.items[n-1].end
	}
	return 0
}

func (r *random) Add(value any, weight int64) {
	if end := r.total() + weight; weight > 0 && end > 0 { // no overflow
		r.items = append(r.items, item{value, end})
	}
}

func (r *random) Next() any {
	switch len(r.items) {
	case 0:
		return nil
	case 1:
		return r.items[0].value
	}
	n := rand.Int64N(r.total())
	return r.items[sort.Search(len(r.items), func(i int) bool { return r.items[i].end > n })].value
}
