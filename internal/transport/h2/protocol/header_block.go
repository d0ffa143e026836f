// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/hpack"

// maxKeptList is the largest memory, in bytes, of the connection's field list that is kept for the next
// block.
const maxKeptList = 8 << 10

// HeaderBlock is one decoded field block. It is valid during the call that it is passed to.
type HeaderBlock struct {
	list  hpack.List
	memos *memos    // of other blocks, for Alike; nil: none can be used
	slot  *memoSlot // where its memo is kept; nil: it is not kept
	memo  any
	held  *Shared // the memory of the memo, or of what was made of the block
	note  uint32
	coded uint32 // its octets as HPACK coded them

	partial bool // it is being decoded, or a panic has ended its decoding
}

// Memo returns what an earlier call passed to SetMemo for a block that was the same to the last byte
// and meant the same fields. It returns nil if there is none. With a memo the fields themselves are not
// decoded: Len is 0.
func (b *HeaderBlock) Memo() any { return b.memo }

// Foreign reports whether the memo was made for another connection, with the same Config. The caller
// must not keep such a memo: it passes a copy of it to SetMemo, with a Shared.Copy.
func (b *HeaderBlock) Foreign() bool { return b.memo != nil && b.held == nil }

// SetMemo says that the stream holds v, and that held is the memory that v takes. v was made of the
// block and must not refer to it. The memory is charged until the stream, and on a server also its
// handler, has ended. If held is small and v is not nil, v is also kept as the memo of later blocks
// that are the same. Once this connection is parked, other connections may use that memo, too.
func (b *HeaderBlock) SetMemo(v any, held *Shared) {
	b.held = held
	if b.slot != nil && v != nil && held.size&^isCopy <= memoMaxHeld {
		b.slot.memo, b.slot.shared = v, held
	}
}

// Alike returns the memo of another block for which same returns true; nil if there is none. The caller
// may pass that memo to SetMemo for this block, too, together with the memo's Shared. So blocks that
// differ little share what is made of them.
func (b *HeaderBlock) Alike(same func(memo any) bool) any {
	if b.memos == nil {
		return nil
	}
	return b.memos.alike(b.slot.gen, same)
}

// SetNote stores a number beside the memo, for its later users: something that other blocks with the
// same memo need not have in common with this one.
func (b *HeaderBlock) SetNote(n uint32) {
	b.note = n
	if b.slot != nil {
		b.slot.note = n
	}
}

// Note returns the number that SetNote was given for this block, or for the earlier block whose memo it
// has; 0 if there is none.
func (b *HeaderBlock) Note() uint32 { return b.note }

// Len returns the number of fields.
func (b *HeaderBlock) Len() int { return b.list.Len() }

// Name returns the name of field i.
func (b *HeaderBlock) Name(i int) []byte { return b.list.Name(i) }

// Value returns the value of field i.
func (b *HeaderBlock) Value(i int) []byte { return b.list.Value(i) }

// Field returns the entry of the dynamic table that field i refers to: see hpack.List.Field. A caller
// that keeps f reports it with SetMemo.
func (b *HeaderBlock) Field(i int) (f *hpack.Field, whole bool) { return b.list.Field(i) }

// Static returns the index of the entry of the static table that field i refers to: see
// hpack.List.Static.
func (b *HeaderBlock) Static(i int) (index int, whole bool) { return b.list.Static(i) }

// Flawed reports whether Config.Kinds find a flaw in the value of field i.
func (b *HeaderBlock) Flawed(i int) bool { return b.list.Flawed(i) }

// Kind returns what Config.Kinds says about the name of field i.
func (b *HeaderBlock) Kind(i int) uint8 { return b.list.Kind(i) }

// CodedLen returns the length of the block as HPACK coded it (RFC 7541). Padding and priorities of its
// frames are not part of it.
func (b *HeaderBlock) CodedLen() uint32 { return b.coded }

// TooLarge reports whether the list went over our SETTINGS_MAX_HEADER_LIST_SIZE. Fields are missing
// then.
func (b *HeaderBlock) TooLarge() bool { return b.list.TooLarge() }

// forget clears everything about the last block except its list.
func (b *HeaderBlock) forget() { b.memos, b.slot, b.memo, b.held, b.note = nil, nil, nil, nil, 0 }

// gained returns the memory of the memo that SetMemo kept for b; nil if it kept none.
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
