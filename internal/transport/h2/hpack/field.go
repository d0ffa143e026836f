// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"sync/atomic"
	"unsafe"
)

// Field is a field of a decoder's dynamic table that a block has referred to. Its name and value are
// strings of their own, so that keeping a Field keeps nothing else alive. Each entry of the table has
// at most one Field. It is made when a block first refers to the entry, and serves all later blocks. If
// blocks refer only to the entry's name, the Field has no value; then it serves all entries whose names
// were taken from one another. A Field never changes, except for Holders and Place.
type Field struct {
	*text

	// Holders is for the decoder's owner, which counts in it how many things hold the Field.
	Holders int32

	// Place is for code that lists the fields of a block that was just decoded and must not list a
	// field twice: it stores here where in its list it put this Field last. Only the goroutine that
	// decodes uses it.
	Place uint32

	static uint8 // for a name of the static table: the index of that name; 0: not one of these
	flawed bool  // the decoder's Kinds find a flaw in the value
}

// Name returns the field's name.
func (f *Field) Name() string { return f.name }

// Value returns the field's value.
func (f *Field) Value() string { return f.value }

// text is a name and a value, which never change. Fields of different connections that have the same
// short name and value share one text. Connections of one program often have such Fields.
type text struct{ name, value string }

const (
	sharedTexts = 256
	// maxSharedText is the largest size, in octets, of a text that Fields share.
	maxSharedText = 128
)

// texts has the shared texts that were made last. Its size is fixed, whatever peers send.
var texts [sharedTexts]atomic.Pointer[text]

// textOf returns a text with these octets, which are those of an entry. If named is not nil, the text
// uses its name.
func textOf(named *Field, name, value []byte) *text {
	if len(name)+len(value) > maxSharedText {
		return newText(named, name, value)
	}
	n, v := unsafe.String(unsafe.SliceData(name), len(name)), unsafe.String(unsafe.SliceData(value), len(value))
	hash := pairHash(n, v)
	place := &texts[(hash^hash>>16)%sharedTexts]
	if t := place.Load(); t != nil && t.name == n && t.value == v {
		return t
	}
	t := newText(named, name, value)
	place.Store(t)
	return t
}

func newText(named *Field, name, value []byte) *text {
	t := &text{value: string(value)}
	if named != nil {
		t.name = named.name
	} else {
		t.name = string(name)
	}
	return t
}

// Size returns the memory that f takes, in octets. Its text counts in full, though others may share it.
func (f *Field) Size() int { return fieldStructSize + allocated(len(f.name)) + allocated(len(f.value)) }

// fieldStructSize is the memory of a Field and of its text, in the allocator's size classes. A test
// checks it.
const fieldStructSize = 24 + 32

// allocated returns an upper bound of the memory that a string of n octets takes: the allocator rounds
// up, by less than a fifth if n is large.
func allocated(n int) int { return (n + n/5 + 15) &^ 15 }

// StaticLen is the number of fields in the static table (RFC 7541 appendix A).
const StaticLen = staticLen

// Static returns field i of the static table; i is from 1 to [StaticLen].
func Static(i int) (name, value string) {
	f := &staticFields[i]
	return f[0], f[1]
}

// staticNames has a Field for each name of the static table, without a value.
var staticNames = func() (names [staticLen + 1]Field) {
	for i := range names {
		names[i] = Field{text: &text{name: staticFields[i][0]}, static: uint8(i)}
	}
	return names
}()

// interned has the Fields of one entry of a decoder's table.
type interned struct {
	field *Field // name and value; nil: no block has referred to the whole entry yet
	name  *Field // has the name, with or without a value; nil: none was needed so far
}

// internedSize is unsafe.Sizeof(interned{}) with pointers of 8 octets. A test checks it.
const internedSize = 16

// octetsOf returns the octets of s without a copy. They must not be changed.
func octetsOf(s string) []byte {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	return b[:len(b):len(b)]
}
