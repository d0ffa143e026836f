// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"hash/maphash"
	"sync"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// HeaderBlock is one decoded field block, valid during the call that brings it.
type HeaderBlock struct {
	list hpack.List
	slot *any
	memo any
}

// Memo is what an earlier call left with SetMemo for a block that was the same
// to the last byte and meant the same fields; nil if there was none. With a
// memo the fields themselves are not decoded: Len is 0.
func (b *HeaderBlock) Memo() any { return b.memo }

// SetMemo keeps v, which must not refer to the block, for the next block like
// this one. It is forgotten when the connection goes idle.
func (b *HeaderBlock) SetMemo(v any) {
	if b.slot != nil {
		*b.slot = v
	}
}

// Len is the number of fields.
func (b *HeaderBlock) Len() int { return b.list.Len() }

// Name returns the name of field i.
func (b *HeaderBlock) Name(i int) []byte { return b.list.Name(i) }

// Value returns the value of field i.
func (b *HeaderBlock) Value(i int) []byte { return b.list.Value(i) }

// Kind is what Config.Kinds says of the name of field i.
func (b *HeaderBlock) Kind(i int) uint8 { return b.list.Kind(i) }

// Sensitive reports whether field i was sent as never to be indexed.
func (b *HeaderBlock) Sensitive(i int) bool { return b.list.Sensitive(i) }

// Size is the size of the list as RFC 9113 section 6.5.2 counts it.
func (b *HeaderBlock) Size() int { return b.list.Size() }

// TooLarge reports that the list went over our SETTINGS_MAX_HEADER_LIST_SIZE;
// fields are then missing.
func (b *HeaderBlock) TooLarge() bool { return b.list.TooLarge() }

// fragments gathers one field block out of HEADERS and CONTINUATION frames.
// Owned by the reader.
type fragments struct {
	id     uint32 // the stream whose block is open, 0 if none is
	end    bool   // END_STREAM came with the HEADERS frame
	void   error  // a stream error that the HEADERS frame already deserved
	buf    []byte
	frames int
}

func (f *fragments) begin(id uint32, end bool, void error) {
	f.id, f.end, f.void, f.frames = id, end, void, 0
	f.buf = f.buf[:0]
}

// add appends one frame's part. limit is the header list limit: compressed, a
// list can't usefully be larger. A little more is let through all the same, for
// the stream alone to fail.
func (f *fragments) add(p []byte, limit uint32) error {
	f.frames++
	if uint64(len(f.buf)+len(p)) > uint64(limit)+fragmentSlack {
		return frame.ConnError(frame.EnhanceYourCalm, "field block larger than the header list limit")
	}
	if f.frames > maxFragments+len(f.buf)>>10 {
		return frame.ConnError(frame.EnhanceYourCalm, "field block in too many CONTINUATION frames")
	}
	f.buf = append(f.buf, p...)
	return nil
}

const (
	memoSlots   = 8
	memoMaxSize = 512 // of a block in bytes
)

// memos remembers the last few field blocks that changed nothing in the HPACK
// table, and what the role made of them: calls of one method look the same
// again and again. Owned by the reader.
type memos struct {
	slot [memoSlots]memoSlot
	turn int
}

type memoSlot struct {
	block []byte
	gen   uint64 // of the HPACK table the block was read with
	memo  any
}

func (m *memos) find(block []byte, gen uint64) *memoSlot {
	for i := range m.slot {
		s := &m.slot[i]
		if s.gen == gen && s.memo != nil && bytes.Equal(s.block, block) {
			return s
		}
	}
	return nil
}

// claim returns a slot for block, the oldest one.
func (m *memos) claim(block []byte, gen uint64) *memoSlot {
	s := &m.slot[m.turn]
	m.turn = (m.turn + 1) % memoSlots
	s.block = append(s.block[:0], block...)
	s.gen = gen
	s.memo = nil
	return s
}

// decode reads a whole field block into the connection's HeaderBlock.
func (c *Conn) decode(block []byte) (*HeaderBlock, error) {
	a := c.act
	b := &a.headers
	gen := a.dec.Generation()
	if s := a.memos.find(block, gen); s != nil {
		b.list.Reset(0)
		b.slot, b.memo = nil, s.memo
		return b, nil
	}
	b.slot, b.memo = nil, nil
	b.list.Reset(c.cfg.maxHeaderList())
	if err := a.dec.Decode(block, &b.list); err != nil {
		// "A decoding error in a field block MUST be treated as a connection
		// error of type COMPRESSION_ERROR", section 4.3.
		return nil, frame.ConnError(frame.CompressionError, err.Error())
	}
	if a.dec.Generation() == gen && len(block) <= memoMaxSize && !b.list.TooLarge() {
		b.slot = &a.memos.claim(block, gen).memo
	}
	return b, nil
}

// FieldWriter takes the fields of a header block that is being sent.
type FieldWriter struct {
	enc  *hpack.Encoder // nil: only count
	buf  []byte
	size uint32
	seen *seenFields
}

// seenFields remembers hashes of fields that were sent lately. A field enters
// the HPACK table when it is sent a second time: a value made for one call
// would only push out others.
type seenFields [16]uint16

var fieldSeed = maphash.MakeSeed()

func (f *seenFields) again(name, value string) bool {
	h := maphash.String(fieldSeed, value) + 31*maphash.String(fieldSeed, name)
	slot := &f[h&15]
	mark := uint16(h>>48) | 1
	if *slot == mark {
		return true
	}
	*slot = mark
	return false
}

// Field adds a field that is likely to be sent again on this connection.
func (w *FieldWriter) Field(name, value string) { w.add(name, value, hpack.Incremental) }

// Once adds a field whose value will probably differ next time.
func (w *FieldWriter) Once(name, value string) { w.add(name, value, hpack.WithoutIndexing) }

// Custom adds a field of the application's, of which it is not known whether
// its value will be sent again.
func (w *FieldWriter) Custom(name, value string) {
	if w.seen != nil && w.seen.again(name, value) {
		w.Field(name, value)
		return
	}
	w.Once(name, value)
}

// Secret adds a field that no intermediary may put into a table, RFC 7541
// section 7.1.3.
func (w *FieldWriter) Secret(name, value string) { w.add(name, value, hpack.NeverIndexed) }

func (w *FieldWriter) add(name, value string, ix hpack.Indexing) {
	if w.enc == nil {
		w.size += uint32(len(name) + len(value) + 32)
		return
	}
	w.buf = w.enc.AppendField(w.buf, name, value, ix)
}

// fieldWriters are kept because a call through an interface makes them escape.
var fieldWriters = sync.Pool{New: func() any { return new(FieldWriter) }}

// listSize is the size of f's list as RFC 9113 section 6.5.2 counts it.
func listSize(f FieldSource) uint32 {
	w := fieldWriters.Get().(*FieldWriter)
	*w = FieldWriter{}
	f.AppendFields(w)
	size := w.size
	fieldWriters.Put(w)
	return size
}

// appendHeaders encodes the fields of f as a HEADERS frame of s. mu is held.
func (c *Conn) appendHeaders(s *Stream, f FieldSource, end bool) error {
	if max := c.remote.maxHeaderList; max != noLimit {
		// The encoder's table can't be rolled back, so the size is counted
		// before the first field is encoded.
		if size := listSize(f); size > max {
			return &ErrHeaderListTooLarge{Size: size, Max: max}
		}
	}
	c.sentWork = true
	if s.state == stateIdle {
		s.state, _ = s.state.next(sendHeaders)
	}
	c.out.reserve(1<<10, c.cfg.Pool)
	start := len(c.out.b)
	e := c.encoder()
	w := fieldWriters.Get().(*FieldWriter)
	*w = FieldWriter{enc: &e.enc, buf: e.enc.Begin(frame.ReserveHeaders(c.out.b)), seen: &e.seen}
	f.AppendFields(w)
	c.out.adopt(frame.FinishHeaders(w.buf, start, s.id, end, c.remote.maxFrame), c.cfg.Pool)
	*w = FieldWriter{}
	fieldWriters.Put(w)
	if end {
		c.endLocal(s)
	}
	c.freezeIfSlim()
	return nil
}
