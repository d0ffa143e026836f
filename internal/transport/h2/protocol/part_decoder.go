// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// partDecoder decodes a field block that lies in several parts. It copies only the fields
// that begin in one part and end in another.
type partDecoder struct {
	dec  *hpack.Decoder
	list *hpack.List
	pool mem.BufferPool
	cut  *[]byte // lent: the beginning of a field that goes on in the next part; nil: none
	need int     // how long cut has to be before it is worth decoding again
	left int     // bytes of the block that are still to come

	reserved bool
}

// add decodes the next part.
func (d *partDecoder) add(p []byte) error {
	d.left -= len(p)
	for d.cut != nil {
		n := min(d.need-len(*d.cut), len(p))
		*d.cut = append(*d.cut, p[:n]...)
		p = p[n:]
		if len(*d.cut) < d.need && d.left > 0 {
			return nil
		}
		if err := d.decode(*d.cut, len(p)); err != nil || len(p) == 0 {
			return err
		}
	}
	return d.decode(p, 0)
}

// decode decodes p, and keeps a field that is not complete at its end as cut. In the same
// part ahead more bytes follow.
func (d *partDecoder) decode(p []byte, ahead int) error {
	left := ahead + d.left
	n, need, err := d.dec.DecodePart(p, d.list, left > 0)
	if err != nil {
		return err
	}
	old := d.cut
	d.cut = nil
	if rest := p[n:]; len(rest) > 0 {
		// The length that a field declares may be more than what the block has left.
		d.cut, d.need = d.pool.Get(min(need, len(rest)+left)), need
		*d.cut = append((*d.cut)[:0], rest...)
	}
	if old != nil {
		d.pool.Put(old)
	}
	return nil
}

// reserve makes room in the list for what is left of the block, once: it would be copied
// again and again as it grows. A block that is mostly one field, which is then in cut, has
// no room reserved.
func (d *partDecoder) reserve() {
	if d.reserved || d.cut != nil && d.need > d.left/2 {
		return
	}
	d.reserved = true
	d.list.Grow(d.left)
}

// close gives back what is left after an error.
func (d *partDecoder) close() {
	if d.cut != nil {
		d.pool.Put(d.cut)
		d.cut = nil
	}
}
