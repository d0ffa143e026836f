// SPDX-License-Identifier: Apache-2.0

package mem

// BufferSlice is a sequence of Buffers that together are one run of bytes, such as a message. Its holder
// holds one reference to each of its Buffers. It must not contain nil.
type BufferSlice []Buffer

// Len returns the number of bytes in all Buffers.
func (s BufferSlice) Len() int {
	total := 0
	for _, b := range s {
		total += b.Len()
	}
	return total
}

// Ref adds a reference to each Buffer.
func (s BufferSlice) Ref() {
	for _, b := range s {
		b.Ref()
	}
}

// Free gives up one reference to each Buffer. The elements stay in place.
func (s BufferSlice) Free() {
	for _, b := range s {
		b.Free()
	}
}

// CopyTo copies to dst what fits and returns how many bytes that were. The references
// stay as they are.
func (s BufferSlice) CopyTo(dst []byte) int {
	n := 0
	for _, b := range s {
		if n == len(dst) {
			break
		}
		n += copy(dst[n:], b.ReadOnlyData())
	}
	return n
}

// Materialize returns all bytes in a new slice that belongs to the caller, nil if
// there are none. The references stay as they are.
func (s BufferSlice) Materialize() []byte {
	n := s.Len()
	if n == 0 {
		return nil
	}
	out := make([]byte, n)
	s.CopyTo(out)
	return out
}

// MaterializeToBuffer returns all bytes in one Buffer with a reference of its own, which
// the caller must Free; the references of s stay as they are. A single Buffer is
// not copied. Otherwise the memory comes from pool; a nil pool means an allocation.
func (s BufferSlice) MaterializeToBuffer(pool BufferPool) Buffer {
	if len(s) == 1 {
		s[0].Ref()
		return s[0]
	}
	n := s.Len()
	switch {
	case n == 0:
		return SliceBuffer(nil)
	case pool == nil:
		return SliceBuffer(s.Materialize())
	}
	b := pool.Get(n)
	s.CopyTo(*b)
	return NewBuffer(b, pool)
}
