// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"math/bits"
	"testing"
	"unsafe"
)

// Most connections are idle, and this is the largest part of what they keep: what
// only a busy or an ending one needs belongs to active, coder or ending.
func TestConnSize(t *testing.T) {
	if n := unsafe.Sizeof(Conn{}); bits.UintSize == 64 && !raceEnabled && n > 384 {
		t.Errorf("a connection has %d bytes, more than 384, a size class of the allocator", n)
	}
}
