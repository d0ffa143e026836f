// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "google.golang.org/grpc/mem"

// smallMax is the length up to which a message does not come from the pool. One allocation
// of just its size is as fast there, and a peer that sends tiny messages to a slow
// receiver cannot make each of them hold a buffer many times as large.
const smallMax = 104

// A small buffer is one allocation that holds the bytes and, in front of them, the slice
// header which the message's Buffer points to. On 64-bit systems they are 64 and 128
// bytes, which are size classes of the allocator.
type (
	small40 struct {
		header mem.SliceBuffer
		data   [40]byte
	}
	small104 struct {
		header mem.SliceBuffer
		data   [smallMax]byte
	}
)

// newSmall returns n bytes, n <= smallMax, that need not be freed. What it points to is
// also a *mem.SliceBuffer.
func newSmall(n int) *[]byte {
	if n <= len(small40{}.data) {
		s := new(small40)
		s.header = s.data[:n:n]
		return (*[]byte)(&s.header)
	}
	s := new(small104)
	s.header = s.data[:n:n]
	return (*[]byte)(&s.header)
}
