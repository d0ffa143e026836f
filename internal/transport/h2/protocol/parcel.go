// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"sync"

	"google.golang.org/grpc/mem"
)

const (
	parcelSize = 16 << 10 // what a parcel begins with
	// DATA is not added to a parcel past this many bytes, or what Config says
	// within these bounds.
	minMaxParcel = 256 << 10
	maxMaxParcel = 1 << 20
)

// Parcel is encoded frames in a pooled buffer that grows by moving to a larger one, and
// between them pieces of messages, which lie where they are. The zero value holds nothing.
type Parcel struct{ held *held }

// held is what a Parcel holds.
type held struct {
	b      []byte  // all but the pieces; not empty if there are any
	p      *[]byte // what of b goes back to the pool; nil if b has outgrown it
	pieces []piece
	size   int      // of all pieces, in bytes
	vector [][]byte // room for what Parcel.Vector returns

	borrowed bool // a piece may be Borrowed
}

// piece is a part of a message that was not copied.
type piece struct {
	at   int // it stands before this byte of held.b
	data []byte
	ref  mem.Buffer // is freed with the parcel
}

// maxPooledPieces is how many pieces a held may have room for that is kept for another parcel.
const maxPooledPieces = 256

var heldPool = sync.Pool{New: func() any { return new(held) }}

func (o *Parcel) empty() bool { return o.held == nil || len(o.held.b) == 0 }

// Head is all but the pieces.
func (o *Parcel) Head() []byte {
	if o.held == nil {
		return nil
	}
	return o.held.b
}

// Size is how many bytes have to be written.
func (o *Parcel) Size() int {
	if o.held == nil {
		return 0
	}
	return len(o.held.b) + o.held.size
}

// memory is how many bytes are held.
func (o *Parcel) memory() int { return o.Size() + o.spare() }

// Whole reports whether all is in b.
func (o *Parcel) Whole() bool { return o.held == nil || len(o.held.pieces) == 0 }

// spare is how many bytes can be appended without growing.
func (o *Parcel) spare() int {
	if o.held == nil {
		return 0
	}
	return cap(o.held.b) - len(o.held.b)
}

// reserve makes room for n more bytes, so that the appends that follow do not
// leave the pooled memory. n is above 0.
func (o *Parcel) reserve(n int, pool mem.BufferPool) {
	if o.spare() >= n {
		return
	}
	if o.held == nil {
		o.held = heldPool.Get().(*held)
	}
	h := o.held
	p := pool.Get(max(parcelSize, 2*cap(h.b), len(h.b)+n))
	b := (*p)[:len(h.b)]
	copy(b, h.b)
	h.own(p, pool)
	h.b = b
}

// Copy appends data.
func (o *Parcel) Copy(data []byte, pool mem.BufferPool) {
	if len(data) > 0 {
		o.reserve(len(data), pool)
		o.held.b = append(o.held.b, data...)
	}
}

// Lend appends data without a copy, which is not the first thing that is appended. It lies in
// ref, which is the parcel's from then on.
func (o *Parcel) Lend(data []byte, ref mem.Buffer) {
	o.held.pieces = append(o.held.pieces, piece{len(o.held.b), data, ref})
	o.held.size += len(data)
	if _, ok := ref.(Borrowed); ok {
		o.held.borrowed = true
	}
}

// add appends what is in b without a copy, if that is at least uncopied bytes. b is the parcel's from
// then on.
func (o *Parcel) add(b mem.Buffer, uncopied int, pool mem.BufferPool) {
	data := b.ReadOnlyData()
	if len(data) >= uncopied {
		o.Lend(data, b)
		return
	}
	o.Copy(data, pool)
	b.Free()
}

// Vector returns what follows the first off bytes, where there are pieces: a part of b, a piece,
// and so on, and the rest of b. Any of these may be empty. It is valid until the next call.
func (o *Parcel) Vector(off int) [][]byte {
	v, from := o.held.vector[:0], 0
	for i := range o.held.pieces {
		p := &o.held.pieces[i]
		v = append(v, o.held.b[from:p.at], p.data)
		from = p.at
	}
	v = append(v, o.held.b[from:])
	o.held.vector = v
	for i := 0; off > 0; i++ {
		n := min(off, len(v[i]))
		v[i] = v[i][n:]
		off -= n
	}
	return v
}

// adopt takes b, which an append made of held.b and which may have outgrown the
// pooled memory.
func (o *Parcel) adopt(b []byte, pool mem.BufferPool) {
	if p := o.held.p; p != nil && &b[:1][0] != &(*p)[:1][0] {
		o.held.own(nil, pool)
	}
	o.held.b = b
}

// Free gives the memory back; o is then empty.
func (o *Parcel) Free(pool mem.BufferPool) {
	if o.held != nil {
		o.held.free(pool)
	}
	*o = Parcel{}
}

// own makes p what goes back to the pool, in the place of what does now.
func (h *held) own(p *[]byte, pool mem.BufferPool) {
	if h.p != nil {
		pool.Put(h.p)
	}
	h.p = p
}

func (h *held) free(pool mem.BufferPool) {
	h.own(nil, pool)
	for i := range h.pieces {
		h.pieces[i].ref.Free()
	}
	if cap(h.pieces) > maxPooledPieces {
		return
	}
	clear(h.pieces)
	clear(h.vector)
	*h = held{pieces: h.pieces[:0], vector: h.vector[:0]}
	heldPool.Put(h)
}
