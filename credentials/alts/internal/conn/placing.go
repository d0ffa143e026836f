// SPDX-License-Identifier: Apache-2.0

package conn

// placing makes a read of the layer below land behind the input that is held.
// To that layer it is a pool; what it lends is the room in the reader's own
// buffer. Where the held input lies in the reader itself, it takes a buffer at
// the moment of the loan, when input is there, and gives it back with the loan
// if there was none after all.
type placing struct {
	r      *reader
	window []byte
	fresh  *[]byte // taken for this loan
}

// size is how much to ask for.
func (p *placing) size() int {
	if p.r.buf == nil {
		return p.r.chunk
	}
	return len(*p.r.buf) - p.r.w
}

// Get implements mem.BufferPool.
func (p *placing) Get(n int) *[]byte {
	if p.r.buf != nil {
		p.window = (*p.r.buf)[p.r.w:]
	} else {
		p.fresh = p.r.pool.Get(smallInput + n)
		p.window = (*p.fresh)[p.r.w-p.r.r:]
	}
	p.window = p.window[:min(n, len(p.window))]
	return &p.window
}

// Put implements mem.BufferPool: nothing was read.
func (p *placing) Put(*[]byte) {
	if p.fresh != nil {
		p.r.pool.Put(p.fresh)
	}
	p.window, p.fresh = nil, nil
}

// keep ends the loan after a read of n bytes: a fresh buffer becomes the reader's,
// behind the input that was held.
func (p *placing) keep(n int) {
	r, fresh := p.r, p.fresh
	p.window, p.fresh = nil, nil
	if fresh == nil {
		r.w += n
		return
	}
	held := copy(*fresh, r.small[r.r:r.w])
	r.buf, r.r, r.w = fresh, 0, held+n
}
