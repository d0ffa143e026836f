// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"

	"google.golang.org/grpc/mem"
)

// Borrowed is a piece of a message in memory that belongs to the program, which will get the memory
// back.
type Borrowed interface {
	mem.Buffer
	IsBorrowed()
}

// KeepBorrowed copies what s has queued of b, and all borrowed memory in the parcel of encoded frames,
// so that the owner can have b back.
func (c *Conn) KeepBorrowed(s *Stream, b Borrowed) {
	pool := c.out.cfg.Pool
	if s.pending != nil {
		s.pending.keep(b, pool)
	}
	c.out.buf.Keep(0, pool)
}

// copied returns a copy of data in memory of the pool.
func copied(data []byte, pool mem.BufferPool) ([]byte, mem.Buffer) {
	p := pool.Get(len(data))
	copy(*p, data)
	return *p, mem.NewBuffer(p, pool)
}

// keptPiece is how many bytes of a borrowed message one copy has in a sendQueue. What is left of a
// message that the peer takes slowly has any size. If each were one copy, the pool would keep a large
// array of each of its sizes. Small copies are all of one size, and each goes back as soon as it is sent.
const keptPiece = 64 << 10

// keep replaces the parts of b that are in the queue by copies.
func (q *sendQueue) keep(b Borrowed, pool mem.BufferPool) {
	for i := 0; i < len(q.parts); i++ {
		if q.parts[i].ref != mem.Buffer(b) {
			continue
		}
		data := b.ReadOnlyData()
		if i == 0 {
			data = data[q.off:]
			q.off = 0
		}
		var kept []dataPart
		for piece := range slices.Chunk(data, keptPiece) {
			_, ref := copied(piece, pool)
			kept = append(kept, dataPart{ref: ref})
		}
		q.parts = slices.Replace(q.parts, i, i+1, kept...)
		i += len(kept) - 1
		b.Free()
	}
}

// Borrows reports whether a piece of o is borrowed.
func (o *Parcel) Borrows() bool {
	return o.held != nil && o.held.borrowed
}

// Keep replaces borrowed pieces by copies. Pieces within the first off bytes are dropped, since these
// bytes have been written.
func (o *Parcel) Keep(off int, pool mem.BufferPool) {
	if !o.Borrows() {
		return
	}
	o.held.borrowed = false
	before := 0 // bytes of pieces before the one at hand
	for i := range o.held.pieces {
		p := &o.held.pieces[i]
		before += len(p.data)
		b, ok := p.ref.(Borrowed)
		if !ok {
			continue
		}
		if p.at+before > off {
			p.data, p.ref = copied(p.data, pool)
		} else {
			p.ref = mem.SliceBuffer(nil) // its bytes are skipped
		}
		b.Free()
	}
}
