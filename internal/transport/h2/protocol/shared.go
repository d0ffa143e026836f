// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/hpack"

// Shared is memory that is charged once, however many streams, and perhaps memos,
// hold it. It belongs to one connection. size and refs do not change, and may be
// read without the driver's lock.
type Shared struct {
	refs    []*hpack.Field // held with it, and shared in turn, unless it is a copy
	size    uint32         // without the fields of refs; of a copy, whose fields are another connection's, with them
	holders uint32
}

const isCopy = 1 << 31

// Refs are those that NewShared was given.
func (s *Shared) Refs() []*hpack.Field { return s.refs }

// NewShared is size bytes, and the memory of refs, which do not change and have no field twice, with
// the fields that they refer to. Nobody holds it yet.
func NewShared(size int, refs []*hpack.Field) Shared {
	return Shared{size: uint32(size + cap(refs)*refSize), refs: refs}
}

// refSize is what a reference takes.
const refSize = 8

// Copy is what a copy of it takes that another connection holds, which nobody holds yet.
func (s *Shared) Copy() Shared { return Shared{refs: s.refs, size: uint32(s.whole()) | isCopy} }

// whole is what it takes with all fields.
func (s *Shared) whole() int {
	n := int(s.size &^ isCopy)
	for _, f := range s.counted() {
		n += f.Size()
	}
	return n
}

// counted are the references to fields that are charged one by one.
func (s *Shared) counted() []*hpack.Field {
	if s.size&isCopy != 0 {
		return nil
	}
	return s.refs
}
