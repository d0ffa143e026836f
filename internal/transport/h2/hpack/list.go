// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"math"
	"slices"
)

// List holds the fields of one decoded block: literals in its own memory, what stands in
// a table by reference. Nothing in it aliases the block or the table, so that what happens to
// these later, even within the block, changes nothing. Call [List.Reset] before each use.
//
// Slices that it returns stay as they are until the next Reset or Release.
type List struct {
	buf    []byte
	fields []listField
	size   uint64
	limit  uint32
}

// listField is a field. It refers to field or to the static table, for its name and, if whole,
// for its value; what is literal of it stands in buf from off on, without a gap.
type listField struct {
	field     *Field // nil: not one of the dynamic table
	off       uint32
	nameLen   uint32
	valueLen  uint32
	static    uint8 // index in the static table; 0: not one of that
	kind      uint8
	whole     bool
	sensitive bool
	flawed    bool
}

// isNamed reports whether f has its name by reference.
func (f *listField) isNamed() bool { return f.field != nil || f.static != 0 }

// Reset empties the list, keeps its memory, and sets how large the next block may
// be, in octets as SETTINGS_MAX_HEADER_LIST_SIZE counts (RFC 9113 section 6.5.2):
// name, value and 32 for each field. Zero allows no field; math.MaxUint32 is as good
// as no limit.
func (l *List) Reset(maxBytes uint32) {
	clear(l.fields)
	*l = List{buf: l.buf[:0], fields: l.fields[:0], limit: maxBytes}
}

// Grow makes room for n more octets of literals at once.
func (l *List) Grow(n int) { l.buf = slices.Grow(l.buf, n) }

// Release empties the list and drops its memory.
func (l *List) Release() { *l = List{limit: l.limit} }

// Cap is the memory that the list holds, in octets. A pool drops lists with much of it.
func (l *List) Cap() int { return cap(l.buf) + cap(l.fields)*listFieldSize }

// Len is the number of fields stored, in the order of the block.
func (l *List) Len() int { return len(l.fields) }

// Name is the name of field i.
func (l *List) Name(i int) []byte { return l.name(&l.fields[i]) }

// Value is the value of field i.
func (l *List) Value(i int) []byte { return l.value(&l.fields[i]) }

// Field is what field i refers to in the dynamic table, for its name and, if whole, for its
// value; nil if it refers to nothing there.
func (l *List) Field(i int) (f *Field, whole bool) { return l.fields[i].field, l.fields[i].whole }

// Static is the index of what field i refers to in the static table, for its name and, if whole,
// for its value; 0 if it refers to nothing there.
func (l *List) Static(i int) (index int, whole bool) {
	return int(l.fields[i].static), l.fields[i].whole
}

// Flawed reports whether the decoder's [Kinds] find a flaw in the value of field i. Nothing
// is wrong with those of the static table.
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

// Kind is what the decoder's [Kinds] say of the name of field i. Without any it is
// the lowest index of that name in the static table (RFC 7541 appendix A), or 0 for
// a name that is not there.
func (l *List) Kind(i int) uint8 { return l.fields[i].kind }

// Sensitive reports whether field i was sent as never to be indexed (RFC 7541
// section 6.2.3). Who passes it on has to use [NeverIndexed].
func (l *List) Sensitive(i int) bool { return l.fields[i].sensitive }

// Size is the size of the whole block, fields that were not stored included, in
// octets as for [List.Reset].
func (l *List) Size() int { return int(min(l.size, math.MaxInt)) }

// TooLarge reports whether the block went over the limit. Fields from the first
// that did not fit on are not stored.
func (l *List) TooLarge() bool { return l.size > uint64(l.limit) }

// listFieldSize is unsafe.Sizeof(listField{}), held by a test.
const listFieldSize = 32

// count adds a field to the size and reports whether to store it.
func (l *List) count(nameLen, valueLen int) bool {
	l.size += uint64(nameLen) + uint64(valueLen) + entryOverhead
	return !l.TooLarge()
}

// room is the length of the longest string that may still be stored.
func (l *List) room() uint64 {
	if l.TooLarge() {
		return 0
	}
	return uint64(l.limit) - l.size
}
