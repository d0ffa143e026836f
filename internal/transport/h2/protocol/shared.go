// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/hpack"

// Shared is memory that is charged once, however many streams and memos hold it. It belongs to one
// connection. size and refs do not change, and may be read without the driver's lock.
type Shared struct {
	refs    []*hpack.Field // fields that are held with it, each charged once, unless it is a copy
	size    uint32         // bytes without the fields of refs, or, for a copy, with them: they are another connection's
	holders uint32
}

const isCopy = 1 << 31

// Refs returns the refs that NewShared was given.
func (s *Shared) Refs() []*hpack.Field { return s.refs }

// NewShared returns a Shared of size bytes, the memory of the slice refs, and the fields that refs
// refers to. refs must not change, and must not have a field twice. The Shared has no holder yet.
func NewShared(size int, refs []*hpack.Field) Shared {
	return Shared{size: uint32(size + cap(refs)*refSize), refs: refs}
}

// refSize is the memory of one reference in bytes.
const refSize = 8

// Copy returns the Shared for a copy of the memory, for another connection. It has no holder yet.
func (s *Shared) Copy() Shared { return Shared{refs: s.refs, size: uint32(s.whole()) | isCopy} }

// whole returns the size with all fields.
func (s *Shared) whole() int {
	n := int(s.size &^ isCopy)
	for _, f := range s.counted() {
		n += f.Size()
	}
	return n
}

// counted returns the references to fields that are charged one by one.
func (s *Shared) counted() []*hpack.Field {
	if s.size&isCopy != 0 {
		return nil
	}
	return s.refs
}
