// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/hpack"

// maxKeptList is how much memory the connection's field list keeps from one block to the
// next, in bytes.
const maxKeptList = 8 << 10

// HeaderBlock is one decoded field block, valid during the call that brings it.
type HeaderBlock struct {
	list  hpack.List
	memos *memos    // of other blocks; nil: none that can be like it
	slot  *memoSlot // where a memo of it goes; nil: nowhere
	memo  any
	held  *Shared // what the memo takes, or what was made of the block
	note  uint32

	partial bool // it is being decoded, or a panic ended that
}

// Memo is what an earlier call left with SetMemo for a block that was the same
// to the last byte and meant the same fields; nil if there was none. With a
// memo the fields themselves are not decoded: Len is 0.
func (b *HeaderBlock) Memo() any { return b.memo }

// Foreign says that the memo was made for another connection, with the same Config. It must not be
// kept: SetMemo takes a copy of it, with a Shared.Copy.
func (b *HeaderBlock) Foreign() bool { return b.memo != nil && b.held == nil }

// SetMemo says that the stream holds v, which was made of the block and must not refer
// to it, and that held is the memory this takes. It is charged until the stream, and on a
// server its handler, has ended. If it is small it is also kept as the memo of the next
// block that is the same, on other connections too once this one is parked; a nil v is not.
func (b *HeaderBlock) SetMemo(v any, held *Shared) {
	b.held = held
	if b.slot != nil && v != nil && held.size&^isCopy <= memoMaxHeld {
		b.slot.memo, b.slot.shared = v, held
	}
}

// Alike returns the memo of another block that same knows, which SetMemo may be given for this one
// too, with the Shared that it has; nil if there is none. Blocks that differ in little so share
// what is made of them.
func (b *HeaderBlock) Alike(same func(memo any) bool) any {
	if b.memos == nil {
		return nil
	}
	return b.memos.alike(b.slot.gen, same)
}

// SetNote leaves a number for later users of the memo, beside what it has in common with other blocks.
func (b *HeaderBlock) SetNote(n uint32) {
	b.note = n
	if b.slot != nil {
		b.slot.note = n
	}
}

// Note is the number that SetNote was given, for this block or for the one whose memo it has; 0
// without.
func (b *HeaderBlock) Note() uint32 { return b.note }

// Len is the number of fields.
func (b *HeaderBlock) Len() int { return b.list.Len() }

// Name returns the name of field i.
func (b *HeaderBlock) Name(i int) []byte { return b.list.Name(i) }

// Value returns the value of field i.
func (b *HeaderBlock) Value(i int) []byte { return b.list.Value(i) }

// Field is what field i refers to in the dynamic table: see hpack.List.Field. A caller that keeps it
// says so with SetMemo.
func (b *HeaderBlock) Field(i int) (f *hpack.Field, whole bool) { return b.list.Field(i) }

// Static is what field i refers to in the static table: see hpack.List.Static.
func (b *HeaderBlock) Static(i int) (index int, whole bool) { return b.list.Static(i) }

// Flawed reports whether Config.Kinds find a flaw in the value of field i.
func (b *HeaderBlock) Flawed(i int) bool { return b.list.Flawed(i) }

// Kind is what Config.Kinds says of the name of field i.
func (b *HeaderBlock) Kind(i int) uint8 { return b.list.Kind(i) }

// Size is the size of the list as RFC 9113 section 6.5.2 counts it.
func (b *HeaderBlock) Size() int { return b.list.Size() }

// TooLarge reports that the list went over our SETTINGS_MAX_HEADER_LIST_SIZE;
// fields are then missing.
func (b *HeaderBlock) TooLarge() bool { return b.list.TooLarge() }

// forget takes leave of the last block, but for its list.
func (b *HeaderBlock) forget() { b.memos, b.slot, b.memo, b.held, b.note = nil, nil, nil, nil, 0 }

// gained is what the memo takes that SetMemo kept of b; nil if it kept none.
func (b *HeaderBlock) gained() *Shared {
	if b.slot == nil {
		return nil
	}
	return b.slot.shared
}

// trim gives the list's memory back if a block made it large.
func (b *HeaderBlock) trim() {
	if b.list.Cap() > maxKeptList {
		b.list.Release()
	}
}
