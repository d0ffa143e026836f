// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"testing"
	"unsafe"
)

// What every handler of a stream holds fits the size class below the next.
func TestServerStreamSize(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the classes are those of pointers of 8 bytes")
	}
	if got := unsafe.Sizeof(serverStream{}); got > 96 {
		t.Errorf("a serverStream takes %d bytes; beyond 96 the allocator gives it 112", got)
	}
}
