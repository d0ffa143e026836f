// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync/atomic"
	"unsafe"

	"google.golang.org/grpc/internal/tally"
)

// total is the sum of all accounts of the process. It is updated at the end of a batch, and when the
// application gives memory back.
var total tally.Tally

// BytesHeld returns how many bytes of memory all connections of the process hold for what their peers
// sent.
func BytesHeld() int64 { return total.Sum() }

// total returns the connection's shard of the total.
func (c *locked) total() *atomic.Int64 { return total.At(unsafe.Pointer(c)) }
