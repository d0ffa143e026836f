// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"encoding/binary"
	"iter"
)

// Run is a number of small messages, one after the other, in about the memory of their bytes: kept
// each in a buffer of its own, many small ones would take a hundred times as much.
type Run struct{ b []byte }

// Small is a message of a Run.
type Small struct {
	Body       []byte // as it is sent
	Compressed bool
	Length     int // before compression, in bytes
}

const (
	// maxHead is the most that stands before a message in a Run, in bytes.
	maxHead = 1 + 2*binary.MaxVarintLen64
	minRun  = 256
	maxRun  = 4 << 10
)

// NewRun returns an empty Run with room for a message of n bytes, twice as large as last, within
// bounds; nil stands for none.
func NewRun(last *Run, n int) Run {
	size := minRun
	if last != nil {
		size = min(2*cap(last.b), maxRun)
	}
	return Run{make([]byte, 0, max(size, n+maxHead))}
}

// HasRoom reports whether a message of n bytes fits.
func (r *Run) HasRoom(n int) bool { return cap(r.b)-len(r.b) >= n+maxHead }

// Add adds a copy of a message of n bytes in pieces, for which there must be room.
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

// All are the messages, in their order. They lie in the Run's memory.
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
