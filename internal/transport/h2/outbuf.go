// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/mem"

const (
	outbufSize = 16 << 10 // what a parcel begins with
	// DATA is not added to a parcel past this many bytes, or what Config says
	// within these bounds.
	minMaxParcel = 256 << 10
	maxMaxParcel = 1 << 20
)

// outbuf is encoded frames in a pooled buffer that grows by moving
// to a larger one. The zero value holds nothing.
type outbuf struct {
	b []byte
	p *[]byte // what goes back to the pool
}

func (o *outbuf) empty() bool { return len(o.b) == 0 }

// spare is how many bytes can be appended without growing.
func (o *outbuf) spare() int { return cap(o.b) - len(o.b) }

// reserve makes room for n more bytes, so that the appends that follow do not
// leave the pooled memory.
func (o *outbuf) reserve(n int, pool mem.BufferPool) {
	if o.spare() >= n {
		return
	}
	p := pool.Get(max(outbufSize, 2*cap(o.b), len(o.b)+n))
	b := (*p)[:len(o.b)]
	copy(b, o.b)
	if o.p != nil {
		pool.Put(o.p)
	}
	o.b, o.p = b, p
}

// adopt takes b, which an append made of o.b and which may have outgrown the
// pooled memory.
func (o *outbuf) adopt(b []byte, pool mem.BufferPool) {
	if cap(b) > 0 && o.p != nil && &b[:1][0] != &(*o.p)[:1][0] {
		pool.Put(o.p)
		o.p = nil
	}
	o.b = b
}

// free gives the memory back; o is then empty.
func (o *outbuf) free(pool mem.BufferPool) {
	if o.p != nil {
		pool.Put(o.p)
	}
	*o = outbuf{}
}

// parcel is an outbuf that is being written, with what is not copied into it.
type parcel struct {
	outbuf

	// tail is the payload of the last frame where that is too long to be worth a copy:
	// a part of ref, which is freed with the parcel.
	tail []byte
	ref  mem.Buffer
}

func (p *parcel) free(pool mem.BufferPool) {
	p.outbuf.free(pool)
	if p.ref != nil {
		p.ref.Free()
	}
	*p = parcel{}
}
