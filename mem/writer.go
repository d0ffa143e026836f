// SPDX-License-Identifier: Apache-2.0

package mem

import "io"

// NewWriter returns a Writer which appends copies of what is written to *buffers, in
// memory from pool (nil: allocated). The references belong to the owner of *buffers, who may
// look at it between writes. Not safe for concurrent use.
func NewWriter(buffers *BufferSlice, pool BufferPool) io.Writer {
	return &writer{buffers: buffers, pool: pool}
}

type writer struct {
	buffers *BufferSlice
	pool    BufferPool
}

func (w *writer) Write(p []byte) (int, error) {
	if len(p) > 0 {
		*w.buffers = append(*w.buffers, Copy(p, w.pool))
	}
	return len(p), nil
}
