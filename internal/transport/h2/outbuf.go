// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/mem"

const (
	outbufSize = 16 << 10 // what a batch begins with
	// DATA is not added to a batch past this many bytes, or what Config says
	// within these bounds.
	minMaxBatch = 256 << 10
	maxMaxBatch = 1 << 20
)

// outbuf is a batch of encoded frames in a pooled buffer that grows by moving
// to a larger one. The zero value holds nothing.
type outbuf struct {
	b []byte
	p *[]byte // what goes back to the pool
}

func (o *outbuf) empty() bool { return len(o.b) == 0 }

// reserve makes room for n more bytes, so that the appends that follow do not
// leave the pooled memory.
func (o *outbuf) reserve(n int, pool mem.BufferPool) {
	if cap(o.b)-len(o.b) >= n {
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

// batch is an outbuf that is being written, with what is not copied into it.
type batch struct {
	outbuf

	// tail is the payload of the batch's last frame where that is too long to
	// be worth a copy: a part of ref, which is freed with the batch.
	tail []byte
	ref  mem.Buffer
}

func (b *batch) free(pool mem.BufferPool) {
	b.outbuf.free(pool)
	if b.ref != nil {
		b.ref.Free()
	}
	*b = batch{}
}
