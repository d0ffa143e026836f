// SPDX-License-Identifier: Apache-2.0

package mem

// Buffer is a sequence of bytes with a count of its references. Once the Buffer exists its
// bytes are read only. See the package's comment for who owns what.
//
// Ref and Free may be called from any goroutine that holds a reference.
type Buffer interface {
	// ReadOnlyData returns the bytes themselves, not a copy. They must not be written
	// to, and are valid as long as the caller's reference.
	ReadOnlyData() []byte
	// Ref adds a reference, to be given up with Free. The caller must hold one already.
	Ref()
	// Free gives up one reference. With the last one the memory returns to its pool,
	// and the Buffer must not be used any more.
	Free()
	// Len returns the number of bytes.
	Len() int
	// Slice returns the bytes from start up to, not including, end as a Buffer with a
	// reference of its own, which the caller has to Free; the receiver's reference
	// stays as it is. The memory returns to its pool after the last of both. It panics
	// if the range is not within the Buffer, as slicing does.
	Slice(start, end int) Buffer

	// readInto is ReadUnsafe.
	readInto(dst []byte) (int, Buffer)
	// splitAt is SplitUnsafe.
	splitAt(n int) (left, right Buffer)
}

// ReadUnsafe moves bytes from the start of buf to dst and returns how many, and a
// Buffer of those that remain, nil if there are none. It consumes the caller's
// reference to buf: only the returned Buffer may be used and must be freed.
func ReadUnsafe(dst []byte, buf Buffer) (int, Buffer) { return buf.readInto(dst) }

// SplitUnsafe returns the first n bytes of buf and the rest as two Buffers, each with
// a reference that the caller must give up; either may be empty. It consumes the caller's
// reference to buf: only the returned Buffers may be used. It panics unless
// 0 <= n <= buf.Len().
func SplitUnsafe(buf Buffer, n int) (left, right Buffer) { return buf.splitAt(n) }

// SliceBuffer is a [Buffer] over memory that belongs to the garbage collector. It counts
// nothing: Ref and Free have no effect.
type SliceBuffer []byte

// ReadOnlyData returns the bytes; they stay valid.
func (s SliceBuffer) ReadOnlyData() []byte { return s }

// Ref does nothing.
func (s SliceBuffer) Ref() {}

// Free does nothing.
func (s SliceBuffer) Free() {}

// Len returns the number of bytes.
func (s SliceBuffer) Len() int { return len(s) }

// Slice returns s[start:end], which needs no Free. It panics if the range is not within s.
func (s SliceBuffer) Slice(start, end int) Buffer {
	return s[:len(s):len(s)][start:end:end]
}

func (s SliceBuffer) readInto(dst []byte) (int, Buffer) {
	n := copy(dst, s)
	if n == len(s) {
		return n, nil
	}
	return n, s[n:]
}

func (s SliceBuffer) splitAt(n int) (left, right Buffer) {
	s = s[:len(s):len(s)]
	return s[:n:n], s[n:]
}
