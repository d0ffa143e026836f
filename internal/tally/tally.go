// SPDX-License-Identifier: Apache-2.0

// Package tally has a sharded counter, to which many processors add at the same time.
package tally

import (
	"sync/atomic"
	"unsafe"
)

// Tally is a count in shards, so that processors which deal with different things don't fight over a cache
// line. The zero value is a count of 0.
type Tally [16]struct {
	n atomic.Int64
	_ [56]byte
}

// At returns the shard for the thing at p, such as a connection. The caller adds to the shard.
func (t *Tally) At(p unsafe.Pointer) *atomic.Int64 {
	return &t[uintptr(p)>>9%uintptr(len(t))].n
}

// Sum returns the count at about this moment. It is exact for things that do not change meanwhile. If
// things are only taken away, it is never below what is left.
func (t *Tally) Sum() (sum int64) {
	for i := range t {
		sum += t[i].n.Load()
	}
	return sum
}
