// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unique"
	"unsafe"
)

// Page holds octets of fields that blocks have referred to in a decoder's dynamic table, for
// as long as anybody has a use for them. Each entry is written there once, when it is first
// referred to, with its name only where no page has that: so pages take about as much memory
// as a peer spends on them, however often it refers to an entry in an octet or two. What is
// written does not change.
//
// Pages form a run, each with those that were made before it. A reference is good for each
// page of the run that is not older than the one it points to.
//
// The first page of a run has all entries that there are, as a rule those that all clients
// send that run the same program: decoders with equal ones share its octets.
type Page struct {
	prev   *Page  // nil: the first of its run
	octets string // all of its memory, also what is not written yet
	shared unique.Handle[string]
	no     uint32 // in its run, from 0
	used   uint32 // octets that are written; the decoder's

	// Holders is for the decoder's owner: how many hold the page beside the decoder, each
	// with all pages before it.
	Holders int32
}

const (
	// pageStructSize is the allocator's size class for a Page, held by a test.
	pageStructSize = 48

	pageBits  = 11
	largePage = 1 << pageBits // octets of a page of several entries
	smallPage = 256           // of the second page of a run; the first is as large as need be
	// largeEntry is how many octets an entry has that gets a page of its own. What others
	// leave unused at a page's end is less.
	largeEntry = 256
	// shortHead is what an entry of few octets has beside these.
	shortHead = 3

	// maxPages bounds a run by what fits a reference. A peer that gets there has filled
	// hundreds of megabytes in one block.
	maxPages = 1 << (31 - pageBits)
)

// Prev is the page that was made before p, which comes with it; nil if there is none.
func (p *Page) Prev() *Page { return p.prev }

// Size is the memory that p takes without those before it, in octets.
func (p *Page) Size() int { return len(p.octets) + pageStructSize }

// bytes is all of its memory, of which what is written must not be changed.
func (p *Page) bytes() []byte { return unsafe.Slice(unsafe.StringData(p.octets), len(p.octets)) }

// StaticLen is how many fields the static table has.
const StaticLen = staticLen

// A reference is 1 to 61 for a field of the static table. What is above counts, for an
// entry in a page, the page's number and the place there. An entry begins with a number:
// twice the reference to its name, plus 1, or twice the length of the name that follows.
// Then come the value's length and the value.

func pageRef(no, at uint32) uint32 { return staticLen + 1 + no<<pageBits + at }

// pageNo is the number of the page that ref points to.
func pageNo(ref uint32) uint32 { return (ref - staticLen - 1) >> pageBits }

// Name and Value are those of the field that ref stands for, which is in the static table,
// in last or in a page before it. They do not change.
func Name(ref uint32, last *Page) []byte {
	if ref <= staticLen {
		e := &staticEntries[ref]
		return staticArena[e.off:][:e.nameLen:e.nameLen]
	}
	head, rest := last.entry(ref)
	if head&1 != 0 {
		return Name(uint32(head>>1), last)
	}
	return rest[: head>>1 : head>>1]
}

// Value is the value of what ref stands for, like [Name].
func Value(ref uint32, last *Page) []byte {
	if ref <= staticLen {
		e := &staticEntries[ref]
		return staticArena[e.off+e.nameLen:][:e.valueLen:e.valueLen]
	}
	n, rest := number(last.valueOf(ref))
	return rest[:n:n]
}

// page is the one of its run with number no.
func (p *Page) page(no uint32) *Page {
	for p.no != no {
		p = p.prev
	}
	return p
}

// entry is where ref points to: the number there, and what follows.
func (p *Page) entry(ref uint32) (head uint64, rest []byte) {
	return number(p.page(pageNo(ref)).bytes()[(ref-staticLen-1)%largePage:])
}

// valueOf is where the length of its value stands.
func (p *Page) valueOf(ref uint32) []byte {
	head, rest := p.entry(ref)
	if head&1 == 0 {
		rest = rest[head>>1:]
	}
	return rest
}

func number(b []byte) (uint64, []byte) {
	n, size := binary.Uvarint(b)
	return n, b[size:]
}

func numberSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// run is the pages that a decoder writes to. The zero value has none.
type run struct {
	last *Page
	open *Page  // the one that small entries go to
	size uint64 // octets of all
}

// add writes an entry, whose name is where nameRef says or, if that is 0, in name. at is
// where the value stands in its page.
func (r *run) add(nameRef uint32, name, value []byte) (ref, at uint32) {
	if nameRef != 0 {
		name = nil
	}
	head := headOf(nameRef, name)
	p := r.room(numberSize(head) + len(name) + numberSize(uint64(len(value))) + len(value))
	ref = pageRef(p.no, p.used)
	b := appendEntry(p.bytes()[:p.used], head, name, len(value))
	at = uint32(len(b))
	p.used = uint32(len(append(b, value...)))
	return ref, at
}

// headOf is the number that an entry begins with.
func headOf(nameRef uint32, name []byte) uint64 {
	if nameRef != 0 {
		return uint64(nameRef)<<1 | 1
	}
	return uint64(len(name)) << 1
}

// appendEntry appends all of an entry but its value, which follows.
func appendEntry(b []byte, head uint64, name []byte, valueLen int) []byte {
	b = append(binary.AppendUvarint(b, head), name...)
	return binary.AppendUvarint(b, uint64(valueLen))
}

// room is a page with n octets to write to.
func (r *run) room(n int) *Page {
	switch {
	case n > largeEntry:
		return r.grow(n)
	case r.open == nil:
		r.open = r.grow(n)
	case len(r.open.octets)-int(r.open.used) < n:
		r.open = r.grow(min(max(smallPage, 2*len(r.open.octets)), largePage))
	}
	return r.open
}

func (r *run) grow(n int) *Page {
	octets := slices.Grow([]byte(nil), n)
	p := &Page{prev: r.last, octets: unsafe.String(unsafe.SliceData(octets), cap(octets))}
	if r.last != nil {
		p.no = r.last.no + 1
	}
	r.join(p)
	return p
}

// join makes p the last page.
func (r *run) join(p *Page) {
	r.last = p
	r.size += uint64(p.Size())
}

// lent is what a decoder's table knows of an entry in pages.
type lent struct {
	name   uint32 // a reference to its name; 0: none yet
	whole  uint32 // and to all of it
	at     uint32 // where its value is in the page of whole
	flawed bool   // what Kinds says of the value, with whole
}

// lentSize is unsafe.Sizeof(lent{}), held by a test.
const lentSize = 16

// lentOf is what is known of the entry that was inserted age entries before the newest one.
func (t *table) lentOf(age uint32) *lent {
	if t.lent == nil {
		t.lent = make([]lent, len(t.ring))
	}
	return &t.lent[t.slot(age)]
}

// octets is the name and the value of that entry.
func (t *table) octets(age uint32) (name, value []byte) {
	e := t.at(age)
	b := t.arena[e.off:][:e.nameLen+e.valueLen]
	return b[:e.nameLen], b[e.nameLen:]
}

// lend has the entry in a page.
func (d *Decoder) lend(age uint32) *lent {
	e := d.t.lentOf(age)
	if e.whole == 0 {
		d.write(e, age)
	}
	return e
}

func (d *Decoder) write(e *lent, age uint32) {
	if d.beginRun(); e.whole != 0 {
		return
	}
	name, value := d.t.octets(age)
	e.whole, e.at = d.pages.add(e.name, name, value)
	if e.name == 0 {
		e.name = e.whole
	}
	e.flawed = d.kinds.isFlawed(value)
}

// lendName gives a reference to the name of the entry at index i of both tables.
func (d *Decoder) lendName(i uint32) uint32 {
	if i <= staticLen {
		return i
	}
	age := i - staticLen - 1
	e := d.t.lentOf(age)
	if e.name == 0 {
		d.beginRun()
	}
	if e.name == 0 {
		name, _ := d.t.octets(age)
		e.name, _ = d.pages.add(0, name, nil)
	}
	return e.name
}

// beginRun makes the first page of a run, with all entries that there are, less those that get
// one of their own, and what one page has no room for.
func (d *Decoder) beginRun() {
	if d.pages.last != nil {
		return
	}
	var scratch [512]byte
	b := scratch[:0]
	for age := range d.t.n {
		e := d.t.at(age)
		size := int(e.nameLen) + int(e.valueLen) + shortHead
		if size <= largeEntry && len(b)+size <= largePage {
			b = d.appendLent(b, age)
		}
	}
	if len(b) == 0 {
		return
	}
	octets := unique.Make(string(b))
	p := &Page{octets: octets.Value(), shared: octets, used: uint32(len(b))}
	d.pages.join(p)
	d.pages.open = p
}

// appendLent appends an entry to what is to be the first page.
func (d *Decoder) appendLent(b []byte, age uint32) []byte {
	l := d.t.lentOf(age)
	name, value := d.t.octets(age)
	l.whole = pageRef(0, uint32(len(b)))
	if l.name == 0 {
		b = appendEntry(b, headOf(0, name), name, len(value))
		l.name = l.whole
	} else { // it is one of the static table's
		b = appendEntry(b, headOf(l.name, nil), nil, len(value))
	}
	l.at, l.flawed = uint32(len(b)), d.kinds.isFlawed(value)
	return append(b, value...)
}

// turnRun begins another run where the last one has grown to several times the table: what
// of it nobody holds would never be given back.
func (d *Decoder) turnRun() {
	if d.pages.last != nil && d.pages.size > 4*(uint64(d.t.max)+1<<10) {
		d.pages = run{}
		clear(d.t.lent)
	}
}

// Pages is the youngest page of the decoder's run; nil if there is none.
func (d *Decoder) Pages() *Page { return d.pages.last }

// Kept is a decoder's pages while it is frozen.
type Kept struct {
	pages run
	lent  string // of the entries, newest first: the references of each
}

// Keep returns what is to be kept beside what Freeze writes, where somebody holds the pages:
// else a peer could have the same octets written again and again. It is nil if there is
// nothing.
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
	return &Kept{pages: d.pages, lent: string(b)}
}

// Restore gives back what Keep returned, after Thaw.
func (d *Decoder) Restore(k *Kept) {
	if k == nil {
		return
	}
	d.pages = k.pages
	r := ice{s: k.lent}
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
