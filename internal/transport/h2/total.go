// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync/atomic"
	"unsafe"

	"google.golang.org/grpc/internal/tally"
)

// total is what all accounts of the process hold. It is brought up to date at the end of a
// batch, and when the application gives memory back.
var total tally.Tally

// BytesHeld is what all connections of the process hold of what their peers sent, in bytes
// of memory.
func BytesHeld() int64 { return total.Sum() }

// show brings the total up to date with a. Nothing of a dead connection's counts any more.
// Records are not in it: the layer that holds them counts them.
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
func (a *account) total() *atomic.Int64 { return total.At(unsafe.Pointer(a)) }
