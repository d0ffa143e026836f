// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "google.golang.org/grpc/mem"

// smallMax is the length up to which a message does not come from a pool: below it the
// bookkeeping costs more than the collector does, and a message that is kept pins no
// more than itself.
const smallMax = 1024

// A small buffer is one allocation that holds the bytes and, in front of them, the slice
// header which the message's Buffer points to. The arrays fill the allocator's size
// classes up (on 64-bit systems), except for the last.
type (
	small40 struct {
		header mem.SliceBuffer
		data   [40]byte
	}
	small104 struct {
		header mem.SliceBuffer
		data   [104]byte
	}
	small232 struct {
		header mem.SliceBuffer
		data   [232]byte
	}
	small488 struct {
		header mem.SliceBuffer
		data   [488]byte
	}
	small1024 struct {
		header mem.SliceBuffer
		data   [smallMax]byte
	}
)

// newSmall returns n bytes, n <= smallMax, that need not be freed. What it points to is
// also a *mem.SliceBuffer.
func newSmall(n int) *[]byte {
	var header *mem.SliceBuffer
	switch {
	case n <= 40:
		s := new(small40)
		s.header, header = s.data[:n:n], &s.header
	case n <= 104:
		s := new(small104)
		s.header, header = s.data[:n:n], &s.header
	case n <= 232:
		s := new(small232)
		s.header, header = s.data[:n:n], &s.header
	case n <= 488:
		s := new(small488)
		s.header, header = s.data[:n:n], &s.header
	default:
		s := new(small1024)
		s.header, header = s.data[:n:n], &s.header
	}
	return (*[]byte)(header)
}
