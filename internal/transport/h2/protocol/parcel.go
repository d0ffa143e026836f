// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"sync"

	"google.golang.org/grpc/mem"
)

const (
	parcelSize = 16 << 10 // the initial size of a parcel's buffer, in bytes
	// No DATA is added to a parcel that has so many bytes. Config.WriteBuffer sets the number, within
	// these bounds.
	minMaxParcel = 256 << 10
	maxMaxParcel = 1 << 20
)

// Parcel is encoded frames, and between them pieces of messages that are not copied. The frames are in
// a pooled buffer, which is replaced by a larger one when it is full. The zero value holds nothing.
type Parcel struct{ held *held }

// held has the contents of a Parcel.
type held struct {
	b      []byte  // everything except the pieces; not empty if there are pieces
	p      *[]byte // the pooled buffer that b is in; nil if an append has moved b out of it
	pieces []piece
	size   int      // of all pieces, in bytes
	vector [][]byte // memory for the result of Parcel.Vector

	borrowed bool // a piece may be Borrowed
}

// piece is a part of a message that was not copied.
type piece struct {
	at   int // the piece precedes this byte of held.b
	data []byte
	ref  mem.Buffer // freed with the parcel
}

// maxPooledPieces is the largest capacity of pieces in a held that is kept for another parcel.
const maxPooledPieces = 256

var heldPool = sync.Pool{New: func() any { return new(held) }}

func (o *Parcel) empty() bool { return o.held == nil || len(o.held.b) == 0 }

// Head returns everything except the pieces.
func (o *Parcel) Head() []byte {
	if o.held == nil {
		return nil
	}
	return o.held.b
}

// Size returns how many bytes have to be written.
func (o *Parcel) Size() int {
	if o.held == nil {
		return 0
	}
	return len(o.held.b) + o.held.size
}

// memory returns how many bytes of memory are held.
func (o *Parcel) memory() int { return o.Size() + o.spare() }

// Whole reports whether there are no pieces, so that Head is the whole parcel.
func (o *Parcel) Whole() bool { return o.held == nil || len(o.held.pieces) == 0 }

// spare returns how many bytes can be appended without growing.
func (o *Parcel) spare() int {
	if o.held == nil {
		return 0
	}
	return cap(o.held.b) - len(o.held.b)
}

// reserve makes room for n more bytes, so that the following appends stay in the pooled memory. n must
// be above 0.
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

// Lend appends data without a copy. Something must have been appended by a copy before. data is in ref,
// which belongs to the parcel from then on.
func (o *Parcel) Lend(data []byte, ref mem.Buffer) {
	o.held.pieces = append(o.held.pieces, piece{len(o.held.b), data, ref})
	o.held.size += len(data)
	if _, ok := ref.(Borrowed); ok {
		o.held.borrowed = true
	}
}

// add appends the bytes of b, without a copy if there are at least uncopied bytes. b belongs to the
// parcel from then on.
func (o *Parcel) add(b mem.Buffer, uncopied int, pool mem.BufferPool) {
	data := b.ReadOnlyData()
	if len(data) >= uncopied {
		o.Lend(data, b)
		return
	}
	o.Copy(data, pool)
	b.Free()
}

// Vector returns what follows the first off bytes: a part of Head, a piece, and so on, and the rest of
// Head. Any of these may be empty. There must be pieces. The result is valid until the next call.
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

// adopt stores b as held.b. b is the result of appends to held.b, and may have outgrown the pooled
// memory.
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

// own gives the current pooled buffer back to the pool, and stores p in its place.
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
