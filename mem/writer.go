// SPDX-License-Identifier: Apache-2.0

package mem

import "io"

const (
	writerMin = 512
	writerMax = 32 << 10
)

// NewWriter returns a Writer that adds copies of what is written to the end of *buffers, in
// memory from pool (nil: allocated). The references belong to the owner of *buffers,
// who may use, keep or remove its Buffers between writes. A write may make the last
// Buffer longer, if the Writer created it and nobody took a further reference or a
// Slice of it. Write never fails. Not safe for concurrent use.
func NewWriter(buffers *BufferSlice, pool BufferPool) io.Writer {
	if pool == nil {
		pool = NopBufferPool{}
	}
	return &writer{buffers: buffers, pool: pool}
}

// writer gathers small writes: a compressor makes hundreds of them.
type writer struct {
	buffers *BufferSlice
	pool    BufferPool
	total   int

	// The last Buffer that Write appended, and what tells whether *buffers still ends with it when Write is
	// about to extend it.
	tail    *view
	memory  *[]byte
	tailLen int
}

func (w *writer) Write(p []byte) (int, error) {
	written := len(p)
	w.total += written
	if p = p[w.extend(p):]; len(p) == 0 {
		return written, nil
	}
	// The memory is as large as all that was written so far, so that there are neither many pieces nor much
	// unused memory.
	w.memory = w.pool.Get(max(len(p), min(max(w.total, writerMin), writerMax)))
	w.tailLen = copy(*w.memory, p)
	*w.memory = (*w.memory)[:w.tailLen]
	w.tail = newRegion(w.memory, w.pool)
	*w.buffers = append(*w.buffers, w.tail)
	return written, nil
}

// extend moves what fits from p into the unused rest of the last Buffer.
func (w *writer) extend(p []byte) int {
	list := *w.buffers
	if w.tail == nil || len(list) == 0 || list[len(list)-1] != Buffer(w.tail) || !w.tail.isSole(w.memory, w.tailLen) {
		return 0
	}
	room := w.tail.data[w.tailLen:cap(w.tail.data)]
	n := copy(room, p)
	w.tailLen += n
	w.tail.data = w.tail.data[:w.tailLen]
	return n
}
