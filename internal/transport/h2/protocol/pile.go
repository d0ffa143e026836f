// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/mem"

// pile collects bytes that arrive piece by piece, such as the fragments of a field block, when it is
// not known how many will come. It copies them to a list of pooled buffers, the parts, and join makes
// one buffer of them when all have come. A single buffer would have to grow: each time all bytes would
// be copied, and the old buffer would be held together with the new one. The reader owns it.
type pile struct {
	size    int       // bytes collected
	held    int       // capacity of the parts, in bytes
	charged int       // how much of held the ledger has noted
	parts   []*[]byte // buffers from the pool; all but the last are full
}

// The size of a part, in bytes.
const (
	minPart = 256
	maxPart = 64 << 10
)

// add copies b to the end of the last part, and the rest to new parts. A new part has room for that
// rest, and for as much as the pile has already, within the bounds. So a pile holds at most about twice
// its size, and has few parts.
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

// fill copies as much of b to part as fits, and returns the rest.
func (p *pile) fill(part *[]byte, b []byte) []byte {
	n := min(len(b), cap(*part)-len(*part))
	*part = append(*part, b[:n]...)
	p.size += n
	return b[n:]
}

// shift removes and returns the first part. There must be one. The caller owns it from then on, and
// puts it back into the pool.
func (p *pile) shift() *[]byte {
	part := p.parts[0]
	p.parts[0] = nil
	p.parts = p.parts[1:]
	p.size -= len(*part)
	p.held -= cap(*part)
	return part
}

// join joins the parts into one, and returns its bytes. They are valid until drop.
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

// drop gives the memory back. It does not change charged, so that the ledger can take that amount off.
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
