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
