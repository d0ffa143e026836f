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
	slot *memoSlot // where a memo of it goes; nil: nowhere
	memo any
	held *Shared // what the memo takes, or what was made of the block
}

// Memo is what an earlier call left with SetMemo for a block that was the same
// to the last byte and meant the same fields; nil if there was none. With a
// memo the fields themselves are not decoded: Len is 0.
func (b *HeaderBlock) Memo() any { return b.memo }

// SetMemo says that the stream holds v, which was made of the block and must not refer
// to it, and that held is the memory this takes. It is charged for as long as the
// stream, and with a server its handler, goes on. A small one is kept for the next
// block like this one, too, and forgotten when the connection goes idle.
func (b *HeaderBlock) SetMemo(v any, held *Shared) {
	b.held = held
	if b.slot != nil && held.size <= memoMaxHeld {
		b.slot.memo, b.slot.shared = v, held
	}
}

// Len is the number of fields.
func (b *HeaderBlock) Len() int { return b.list.Len() }

// Name returns the name of field i.
func (b *HeaderBlock) Name(i int) []byte { return b.list.Name(i) }

// Value returns the value of field i.
func (b *HeaderBlock) Value(i int) []byte { return b.list.Value(i) }

// Ref is what field i refers to, as hpack.List says.
func (b *HeaderBlock) Ref(i int) (ref uint32, whole bool) { return b.list.Ref(i) }

// Entries is what the block's references are to, as hpack.List says. Who keeps them
// says so with SetMemo.
func (b *HeaderBlock) Entries() []*hpack.Entry { return b.list.Entries() }

// Kind is what Config.Kinds says of the name of field i.
func (b *HeaderBlock) Kind(i int) uint8 { return b.list.Kind(i) }

// Sensitive reports whether field i was sent as never to be indexed.
func (b *HeaderBlock) Sensitive(i int) bool { return b.list.Sensitive(i) }

// Size is the size of the list as RFC 9113 section 6.5.2 counts it.
func (b *HeaderBlock) Size() int { return b.list.Size() }

// TooLarge reports that the list went over our SETTINGS_MAX_HEADER_LIST_SIZE;
// fields are then missing.
func (b *HeaderBlock) TooLarge() bool { return b.list.TooLarge() }

const (
	memoSlots   = 8
	memoMaxSize = 512     // of a block in bytes
	memoMaxHeld = 2 << 10 // of what is made of it: a byte of a block can stand for thousands

	// maxKeptList is how much memory the connection's field list keeps from one block
	// to the next, in bytes.
	maxKeptList = 8 << 10
)

// memos remembers the last few field blocks that changed nothing in the HPACK
// table, and what the role made of them: calls of one method look the same
// again and again. Owned by the reader.
type memos struct {
	slot [memoSlots]memoSlot
	turn int
}

type memoSlot struct {
	block  []byte
	gen    uint64 // of the HPACK table the block was read with
	memo   any
	shared *Shared // what memo takes
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
func (m *memos) claim(block []byte, gen uint64, l *ledger) *memoSlot {
	s := &m.slot[m.turn]
	m.turn = (m.turn + 1) % memoSlots
	s.block = append(s.block[:0], block...)
	s.gen = gen
	l.lost = s.shared
	s.memo, s.shared = nil, nil
	return s
}

// clear forgets them all.
func (m *memos) clear() {
	for i := range m.slot {
		s := &m.slot[i]
		s.block, s.memo, s.shared, s.gen = s.block[:0], nil, nil, 0
	}
}

// decode reads a whole field block into the connection's HeaderBlock.
func (c *Conn) decode(block []byte) error {
	a := c.act
	b := &a.headers
	gen := a.dec.Generation()
	if s := a.memos.find(block, gen); s != nil {
		b.list.Reset(0)
		b.slot, b.memo, b.held = nil, s.memo, s.shared
		return nil
	}
	b.slot, b.memo, b.held = nil, nil, nil
	b.list.Reset(c.cfg.maxHeaderList())
	if err := a.dec.Decode(block, &b.list); err != nil {
		return undecodable(err)
	}
	if a.dec.Generation() == gen && len(block) <= memoMaxSize && !b.list.TooLarge() {
		b.slot = a.memos.claim(block, gen, &a.ledger)
	}
	return nil
}

// undecodable is err, of the HPACK decoder, for the connection.
func undecodable(err error) error {
	// "A decoding error in a field block MUST be treated as a connection
	// error of type COMPRESSION_ERROR", section 4.3.
	return frame.ConnError(frame.CompressionError, err.Error())
}

// decodeFragments is decode for a block that came in several frames. Of a large one each
// part is given back as soon as it is decoded, and the list grows only once.
func (c *Conn) decodeFragments() error {
	a := c.act
	f := &a.frags
	if len(f.parts) <= 1 {
		return c.decode(f.join(c.cfg.Pool))
	}
	b := &a.headers
	b.slot, b.memo, b.held = nil, nil, nil
	b.list.Reset(c.cfg.maxHeaderList())
	d := partDecoder{dec: &a.dec, list: &b.list, pool: c.cfg.Pool, left: f.size}
	defer d.close()
	for f.size > 0 {
		part := f.shift()
		err := d.add(*part)
		c.cfg.Pool.Put(part)
		if err != nil {
			return undecodable(err)
		}
		d.reserve()
	}
	return nil
}

// gained is what a memo of b takes that was kept just now.
func (b *HeaderBlock) gained() *Shared {
	if b.slot == nil {
		return nil
	}
	return b.slot.shared
}

// slim gives the list's memory back if a block made it large.
func (b *HeaderBlock) slim() {
	if b.list.Cap() > maxKeptList {
		b.list.Release()
	}
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
