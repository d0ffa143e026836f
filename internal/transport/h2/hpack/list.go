// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"math"
	"slices"
)

// List holds the fields of one decoded block. It has its own copies of literals, and references to what
// is in a table. Nothing in it aliases the block or the table, so later changes of these, even within
// the block, change nothing in the list. Call [List.Reset] before each use.
//
// Slices that its methods return stay unchanged until the next Reset or Release.
type List struct {
	buf    []byte
	fields []listField
	size   uint64
	limit  uint32
}

// listField is a field. Its name, and if whole is true its value, are in field or in the static table.
// The literal rest is in buf, from off on, without a gap.
type listField struct {
	field    *Field // nil: it refers to nothing in the dynamic table
	off      uint32
	nameLen  uint32
	valueLen uint32
	static   uint8 // index in the static table; 0: it refers to nothing there
	kind     uint8
	whole    bool
	flawed   bool
}

// isNamed reports whether the name of f is a reference.
func (f *listField) isNamed() bool { return f.field != nil || f.static != 0 }

// Reset empties the list, keeps its memory, and sets the limit for the next block, in octets as
// SETTINGS_MAX_HEADER_LIST_SIZE counts (RFC 9113 section 6.5.2): name, value and 32 for each field.
// Zero allows no field; math.MaxUint32 is practically no limit.
func (l *List) Reset(maxBytes uint32) {
	clear(l.fields)
	*l = List{buf: l.buf[:0], fields: l.fields[:0], limit: maxBytes}
}

// Grow makes room for n more octets of literals at once.
func (l *List) Grow(n int) { l.buf = slices.Grow(l.buf, n) }

// Release empties the list and drops its memory.
func (l *List) Release() { *l = List{limit: l.limit} }

// Cap returns the memory that the list holds, in octets. A pool may drop large lists.
func (l *List) Cap() int { return cap(l.buf) + cap(l.fields)*listFieldSize }

// Len returns the number of fields that are stored, which are in the order of the block.
func (l *List) Len() int { return len(l.fields) }

// Name returns the name of field i.
func (l *List) Name(i int) []byte { return l.name(&l.fields[i]) }

// Value returns the value of field i.
func (l *List) Value(i int) []byte { return l.value(&l.fields[i]) }

// Field returns the Field of the dynamic table that field i refers to, for its name and, if whole is
// true, for its value. f is nil if field i refers to nothing there.
func (l *List) Field(i int) (f *Field, whole bool) { return l.fields[i].field, l.fields[i].whole }

// Static returns the index of the field of the static table that field i refers to, for its name and,
// if whole is true, for its value. The index is 0 if field i refers to nothing there.
func (l *List) Static(i int) (index int, whole bool) {
	return int(l.fields[i].static), l.fields[i].whole
}

// Flawed reports whether the decoder's [Kinds] find a flaw in the value of field i. Values of the
// static table have none.
func (l *List) Flawed(i int) bool { return l.fields[i].flawed }

func (l *List) name(f *listField) []byte {
	switch {
	case f.field != nil:
		return octetsOf(f.field.name)
	case f.static != 0:
		return octetsOf(staticFields[f.static][0])
	}
	return l.buf[f.off:][:f.nameLen:f.nameLen]
}

func (l *List) value(f *listField) []byte {
	switch {
	case f.whole && f.field != nil:
		return octetsOf(f.field.value)
	case f.whole:
		return octetsOf(staticFields[f.static][1])
	case f.isNamed():
		return l.buf[f.off:][:f.valueLen:f.valueLen]
	}
	return l.buf[f.off+f.nameLen:][:f.valueLen:f.valueLen]
}

// Kind returns the number that the decoder's [Kinds] give the name of field i. If the decoder was given
// no Kinds, it is the lowest index of that name in the static table (RFC 7541 appendix A), or 0 for a
// name that is not there.
func (l *List) Kind(i int) uint8 { return l.fields[i].kind }

// Size returns the size of the whole block, in octets as for [List.Reset]. It includes fields that were
// not stored.
func (l *List) Size() int { return int(min(l.size, math.MaxInt)) }

// TooLarge reports whether the block went over the limit. The first field that did not fit and all
// fields after it are not stored.
func (l *List) TooLarge() bool { return l.size > uint64(l.limit) }

// listFieldSize is unsafe.Sizeof(listField{}). A test checks it.
const listFieldSize = 24

// count adds a field to the size and reports whether to store it.
func (l *List) count(nameLen, valueLen int) bool {
	l.size += uint64(nameLen) + uint64(valueLen) + entryOverhead
	return !l.TooLarge()
}

// room returns the length of the longest string that may still be stored.
func (l *List) room() uint64 {
	if l.TooLarge() {
		return 0
	}
	return uint64(l.limit) - l.size
}
