// SPDX-License-Identifier: Apache-2.0

package park

import (
	"sync/atomic"
	"unsafe"
)

// tally counts handles, each in a shard by the memory that it lies in: processors that park
// and wake different ones don't fight over a cache line.
type tally [16]struct {
	n atomic.Int64
	_ [56]byte
}

// add counts what lies at p.
func (t *tally) add(p unsafe.Pointer, n int64) {
	t[uintptr(p)>>9%uintptr(len(t))].n.Add(n)
}

// sum is the count at about this moment. Of what stays as it is it is exact.
func (t *tally) sum() (sum int64) {
	for i := range t {
		sum += t[i].n.Load()
	}
	return sum
}
