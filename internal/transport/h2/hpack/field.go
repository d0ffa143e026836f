// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"sync/atomic"
	"unsafe"
)

// Field is a field of a decoder's dynamic table that a block has referred to. Its name and its
// value are strings of their own, so that keeping one keeps nothing else alive. Each
// entry of the table has one Field, made when it is first referred to, however many blocks
// refer to it after that; where only names were referred to, one without a value serves all
// entries that are named after one another. But for Holders and Place it never changes.
type Field struct {
	*text

	// Holders is for the decoder's owner: how many hold the field that it counts.
	Holders int32

	// Place is for who lists the fields of a block that was just decoded, without repeating any:
	// where it last put this one. It belongs to who decodes.
	Place uint32

	static uint8 // index in the static table of a field of that name, with no value; 0: not one of these
	flawed bool  // what the decoder's Kinds say of the value
}

// Name is the field's name.
func (f *Field) Name() string { return f.name }

// Value is the field's value.
func (f *Field) Value() string { return f.value }

// text is a name and a value, which never change: the Fields of all connections that have the same
// few short ones, as those of one program do, share them.
type text struct{ name, value string }

const (
	sharedTexts = 256
	// maxSharedText is how many octets a text has at most that others may share.
	maxSharedText = 128
)

// texts are the short ones that were made last. There is no more of them, whatever peers send.
var texts [sharedTexts]atomic.Pointer[text]

// textOf returns a text of these octets, which are those of an entry; its name is that of named, if
// there is such a Field.
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

// Size is the memory that f takes, in octets. Its text counts in full, though others may share it.
func (f *Field) Size() int { return fieldStructSize + allocated(len(f.name)) + allocated(len(f.value)) }

// fieldStructSize is unsafe.Sizeof(Field{}) and that of its text in the allocator's size classes, held
// by a test.
const fieldStructSize = 24 + 32

// allocated is at least how much memory a string of n octets takes: the allocator rounds up, by
// less than a fifth where n is large.
func allocated(n int) int { return (n + n/5 + 15) &^ 15 }

// StaticLen is how many fields the static table has (RFC 7541 appendix A).
const StaticLen = staticLen

// Static is field i of the static table; i is 1 to [StaticLen].
func Static(i int) (name, value string) {
	f := &staticFields[i]
	return f[0], f[1]
}

// staticNames are the names of the static table.
var staticNames = func() (names [staticLen + 1]Field) {
	for i := range names {
		names[i] = Field{text: &text{name: staticFields[i][0]}, static: uint8(i)}
	}
	return names
}()

// interned is what a decoder's table has as strings of an entry.
type interned struct {
	field *Field // all of it; nil: no block has referred to it yet
	name  *Field // one of its name, with or without a value; nil: not referred to, nor named after one
}

// internedSize is unsafe.Sizeof(interned{}) with pointers of 8 octets, held by a test.
const internedSize = 16

// octetsOf is s without a copy. It must not be changed.
func octetsOf(s string) []byte {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	return b[:len(b):len(b)]
}
