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

// total is the connection's shard of the total.
func (c *locked) total() *atomic.Int64 { return total.At(unsafe.Pointer(c)) }
