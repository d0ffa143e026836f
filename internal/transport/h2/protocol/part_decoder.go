// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// partDecoder decodes a field block that is in several buffers, the parts. It copies only fields that
// begin in one part and end in another.
type partDecoder struct {
	dec  *hpack.Decoder
	list *hpack.List
	pool mem.BufferPool
	cut  *[]byte // from pool: the beginning of a field that continues in the next part; nil: none
	need int     // the length of cut from which decoding can continue
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

// decode decodes p. If p ends within a field, decode keeps the beginning of that field as cut. ahead
// more bytes of the same part follow p.
func (d *partDecoder) decode(p []byte, ahead int) error {
	left := ahead + d.left
	n, need, err := d.dec.DecodePart(p, d.list, left > 0)
	if err != nil {
		return err
	}
	old := d.cut
	d.cut = nil
	if rest := p[n:]; len(rest) > 0 {
		// The field may declare a length that is more than the rest of the block.
		d.cut, d.need = d.pool.Get(min(need, len(rest)+left)), need
		*d.cut = append((*d.cut)[:0], rest...)
	}
	if old != nil {
		d.pool.Put(old)
	}
	return nil
}

// reserve makes room in the list for the rest of the block, once. Otherwise the list would be copied
// again and again while it grows. No room is reserved for a block that is mostly one field, the one in
// cut.
func (d *partDecoder) reserve() {
	if d.reserved || d.cut != nil && d.need > d.left/2 {
		return
	}
	d.reserved = true
	d.list.Grow(d.left)
}

// close gives back the memory that is left after an error.
func (d *partDecoder) close() {
	if d.cut != nil {
		d.pool.Put(d.cut)
		d.cut = nil
	}
}
