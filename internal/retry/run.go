// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"encoding/binary"
	"iter"
)

// Run holds small messages one after the other in one buffer, which is little larger than their
// bytes together. With a buffer for each message, many small ones would take a hundred times as
// much memory.
type Run struct{ b []byte }

// Small is a message of a Run.
type Small struct {
	Body       []byte // the bytes that are sent
	Compressed bool
	Length     int // before compression, in bytes
}

const (
	// maxHead is the largest size, in bytes, of the header that precedes a message in a Run.
	maxHead = 1 + 2*binary.MaxVarintLen64
	minRun  = 256
	maxRun  = 4 << 10
)

// NewRun returns an empty Run with room for a message of n bytes. It has twice the capacity of
// last, but at most maxRun, or minRun if last is nil; more if the message needs it.
func NewRun(last *Run, n int) Run {
	size := minRun
	if last != nil {
		size = min(2*cap(last.b), maxRun)
	}
	return Run{make([]byte, 0, max(size, n+maxHead))}
}

// HasRoom reports whether a message of n bytes fits.
func (r *Run) HasRoom(n int) bool { return cap(r.b)-len(r.b) >= n+maxHead }

// Add adds a copy of a message whose pieces have n bytes together. HasRoom(n) must be true. length
// is the message's length before compression.
func (r *Run) Add(n, length int, compressed bool, pieces iter.Seq[[]byte]) {
	head := byte(0)
	if compressed {
		head = 1
	}
	r.b = append(r.b, head)
	r.b = binary.AppendUvarint(binary.AppendUvarint(r.b, uint64(length)), uint64(n))
	for p := range pieces {
		r.b = append(r.b, p...)
	}
}

// All returns the messages in the order in which they were added. Their bodies point into the Run's
// memory.
func (r *Run) All() iter.Seq[Small] {
	return func(yield func(Small) bool) {
		for b := r.b; len(b) > 0; {
			m := Small{Compressed: b[0] == 1}
			length, k := binary.Uvarint(b[1:])
			b = b[1+k:]
			n, k := binary.Uvarint(b)
			b = b[k:]
			m.Length, m.Body = int(length), b[:n:n]
			b = b[n:]
			if !yield(m) {
				return
			}
		}
	}
}
