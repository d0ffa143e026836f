// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"encoding/binary"
	"unique"
)

// Kept is a decoder's pages while it is frozen.
type Kept struct {
	last, open *Page                 // of the run
	lent       unique.Handle[string] // of the entries, newest first: the references of each
}

// Keep returns the decoder's pages, to be kept beside what Freeze writes where somebody holds
// them: else a peer could have the same octets written again after each Thaw. It is nil if
// there are none.
func (d *Decoder) Keep() *Kept {
	if d.pages.last == nil {
		return nil
	}
	var scratch [256]byte
	b := scratch[:0]
	for age := range d.t.n {
		var e lent
		if len(d.t.lent) == len(d.t.ring) {
			e = *d.t.lentOf(age)
		}
		b = binary.AppendUvarint(b, uint64(e.name))
		b = binary.AppendUvarint(b, uint64(e.whole))
	}
	return &Kept{last: d.pages.last, open: d.pages.open, lent: unique.Make(string(b))}
}

// Restore gives back what Keep returned, after Thaw.
func (d *Decoder) Restore(k *Kept) {
	if k == nil {
		return
	}
	d.pages = run{last: k.last, open: k.open}
	for p := k.last; p != nil; p = p.prev {
		d.pages.size += uint64(p.Size())
	}
	r := frozenReader{s: k.lent.Value()}
	for age := range d.t.n {
		e := d.t.lentOf(age)
		if e.name, e.whole = r.number(), r.number(); e.whole == 0 {
			continue
		}
		value := Value(e.whole, d.pages.last)
		all := d.pages.last.valueOf(e.whole)
		page := d.pages.last.page(pageNo(e.whole))
		e.at = uint32(len(page.octets) - len(all) + numberSize(uint64(len(value))))
		e.flawed = d.kinds.isFlawed(value)
	}
}
