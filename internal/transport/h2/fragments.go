// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/mem"
)

// fragments gathers one field block out of HEADERS and CONTINUATION frames. The parts
// lie in buffers of about their own size, and are put together when the last one is
// there: a block that grows in one piece would be copied again and again, and what
// it was before would lie about. Owned by the reader.
type fragments struct {
	id      uint32 // the stream whose block is open, 0 if none is
	end     bool   // END_STREAM came with the HEADERS frame
	void    error  // a stream error that the HEADERS frame already deserved
	frames  int
	size    int       // bytes that are there
	held    int       // bytes of the buffers
	charged int       // bytes of these in the account
	parts   []*[]byte // lent; all but the last are full
}

const (
	minPart = 256
	maxPart = 64 << 10
)

func (f *fragments) begin(id uint32, end bool, void error) {
	f.id, f.end, f.void, f.frames = id, end, void, 0
}

// add appends one frame's part. limit is the header list limit: compressed, a
// list can't usefully be larger. A little more is let through all the same, for
// the stream alone to fail.
func (f *fragments) add(p []byte, limit uint32, pool mem.BufferPool) error {
	f.frames++
	if uint64(f.size+len(p)) > uint64(limit)+fragmentSlack {
		return frame.ConnError(frame.EnhanceYourCalm, "field block larger than the header list limit")
	}
	if f.frames > maxFragments+f.size>>10 {
		return frame.ConnError(frame.EnhanceYourCalm, "field block in too many CONTINUATION frames")
	}
	f.store(p, pool)
	return nil
}

func (f *fragments) store(p []byte, pool mem.BufferPool) {
	if len(f.parts) > 0 {
		p = fillUp(f.parts[len(f.parts)-1], p, f)
	}
	for len(p) > 0 {
		b := pool.Get(max(minPart, min(len(p), maxPart), min(f.size, maxPart)))
		*b = (*b)[:0]
		f.parts = append(f.parts, b)
		f.held += cap(*b)
		p = fillUp(b, p, f)
	}
}

// fillUp moves of p to b what fits there, and returns the rest.
func fillUp(b *[]byte, p []byte, f *fragments) []byte {
	n := min(len(p), cap(*b)-len(*b))
	*b = append(*b, p[:n]...)
	f.size += n
	return p[n:]
}

// join returns the block in one piece, which is valid until drop.
func (f *fragments) join(pool mem.BufferPool) []byte {
	if len(f.parts) > 1 {
		whole := pool.Get(f.size)
		*whole = (*whole)[:0]
		for i, b := range f.parts {
			*whole = append(*whole, *b...)
			pool.Put(b)
			f.parts[i] = nil
		}
		f.parts = append(f.parts[:0], whole)
		f.held = cap(*whole)
	}
	if len(f.parts) == 0 {
		return nil
	}
	return *f.parts[0]
}

// drop ends the block and gives its memory back.
func (f *fragments) drop(pool mem.BufferPool) {
	for _, b := range f.parts {
		pool.Put(b)
	}
	clear(f.parts)
	*f = fragments{parts: f.parts[:0]}
	if cap(f.parts) > 16 {
		f.parts = nil
	}
}
