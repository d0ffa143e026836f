// SPDX-License-Identifier: Apache-2.0

package readyreader

import "sync/atomic"

// Retained counts the bytes of memory that a layer keeps while it waits for input, for the layer alone and
// as part of a sum. The zero value is 0 bytes, in no sum. A lock of the layer guards all methods but Load,
// which may be called at any time.
type Retained struct {
	n   int32         // atomic
	sum *atomic.Int64 // nil: none
}

// Load returns the number of bytes.
func (r *Retained) Load() int { return int(atomic.LoadInt32(&r.n)) }

// Set says how many bytes there are. It costs nothing where nothing changes.
func (r *Retained) Set(n int) {
	old := atomic.LoadInt32(&r.n)
	if int32(n) == old {
		return
	}
	atomic.StoreInt32(&r.n, int32(n))
	if r.sum != nil {
		r.sum.Add(int64(n) - int64(old))
	}
}

// CountIn adds the bytes to sum from now on.
func (r *Retained) CountIn(sum *atomic.Int64) {
	r.sum = sum
	sum.Add(int64(r.Load()))
}
