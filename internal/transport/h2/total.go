// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync/atomic"
	"unsafe"
)

// total is what the accounts of the process hold, in shards: each connection has one by
// the memory it lies in. It follows the accounts when their connections have nothing
// better to do.
var total [64]struct {
	bytes atomic.Int64
	_     [56]byte
}

// BytesHeld is what all connections of the process hold of what their peers sent, in bytes
// of memory.
func BytesHeld() int64 {
	var n int64
	for i := range total {
		n += total[i].bytes.Load()
	}
	return n
}

// show brings the total up to date with a, which lies in a connection's memory; nothing
// of it counts once that is dead. Records are counted where they are held.
func (a *account) show(dead bool) {
	held := a.held
	if dead {
		held = 0
	}
	if d := held - a.shown; d != 0 {
		a.shown = held
		a.total().Add(d)
	}
}

// total is a's shard of the total.
func (a *account) total() *atomic.Int64 {
	return &total[uintptr(unsafe.Pointer(a))>>9%uintptr(len(total))].bytes
}
