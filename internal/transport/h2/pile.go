// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/mem"

// pile gathers bytes that arrive a part at a time. The parts lie in buffers of about
// their own size, and are put together when the last one is there: what grows in one
// piece is copied again and again, and what it was before lies about. Owned by the
// reader.
type pile struct {
	size    int       // bytes that are there
	held    int       // bytes of the buffers
	charged int       // of these, in the ledger
	parts   []*[]byte // lent; all but the last are full
}

const (
	minPart = 256
	maxPart = 64 << 10
)

func (p *pile) add(b []byte, pool mem.BufferPool) {
	if n := len(p.parts); n > 0 {
		b = p.fill(p.parts[n-1], b)
	}
	for len(b) > 0 {
		part := pool.Get(max(minPart, min(len(b), maxPart), min(p.size, maxPart)))
		*part = (*part)[:0]
		p.parts = append(p.parts, part)
		p.held += cap(*part)
		b = p.fill(part, b)
	}
}

// fill moves of b to part what fits there, and returns the rest.
func (p *pile) fill(part *[]byte, b []byte) []byte {
	n := min(len(b), cap(*part)-len(*part))
	*part = append(*part, b[:n]...)
	p.size += n
	return b[n:]
}

// shift takes the first part, which is the caller's then. There is one.
func (p *pile) shift() *[]byte {
	part := p.parts[0]
	p.parts[0] = nil
	p.parts = p.parts[1:]
	p.size -= len(*part)
	p.held -= cap(*part)
	return part
}

// join returns the bytes in one piece, which is valid until drop.
func (p *pile) join(pool mem.BufferPool) []byte {
	if len(p.parts) == 0 {
		return nil
	}
	if len(p.parts) > 1 {
		whole := pool.Get(p.size)
		*whole = (*whole)[:0]
		for i, part := range p.parts {
			*whole = append(*whole, *part...)
			pool.Put(part)
			p.parts[i] = nil
		}
		p.parts = append(p.parts[:0], whole)
		p.held = cap(*whole)
	}
	return *p.parts[0]
}

// drop gives the memory back.
func (p *pile) drop(pool mem.BufferPool) {
	for _, part := range p.parts {
		pool.Put(part)
	}
	clear(p.parts)
	*p = pile{charged: p.charged, parts: p.parts[:0]}
	if cap(p.parts) > 16 {
		p.parts = nil
	}
}
