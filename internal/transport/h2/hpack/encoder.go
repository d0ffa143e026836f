// SPDX-License-Identifier: Apache-2.0

package hpack

// MaxEncoderTable bounds the dynamic table of an [Encoder], in octets as RFC 7541
// section 4.1 counts them, however much the peer would allow.
const MaxEncoderTable = DefaultTableSize

// Indexing says what a field may leave in the dynamic tables.
type Indexing uint8

const (
	// Incremental adds the field to the dynamic table, so that later blocks can refer to it. Use it for
	// values that repeat.
	Incremental Indexing = iota
	// WithoutIndexing does not change the table. Use it for values that change from one block to the
	// next. A name that is in a table is referred to all the same. So it pays to add a field once, for
	// its name, and then send it this way.
	WithoutIndexing
	// NeverIndexed also forbids intermediaries to index the field (RFC 7541 section 7.1.3), and always
	// sends it as a literal. Use it for secrets.
	NeverIndexed
)

// First octets of the literal representations, and their index prefixes in bits
// (RFC 7541 section 6.2).
var literalForms = [...]struct {
	pattern byte
	prefix  uint
}{
	Incremental:     {0x40, 6},
	WithoutIndexing: {0x00, 4},
	NeverIndexed:    {0x10, 4},
}

// Encoder encodes the fields of header blocks for one connection. The zero value is ready for use, like
// the result of NewEncoder(MaxEncoderTable).
type Encoder struct {
	t          table
	recent     recent
	ceiling    uint32 // the maximum size that Init was given
	goal       uint32 // the maximum size after the next block's size updates
	low        uint32 // the least goal since the last block
	peer       uint32 // the last SETTINGS_HEADER_TABLE_SIZE
	announce   bool   // the next block must tell the peer goal, even if t.max is goal already
	ready      bool
	lastFrozen frozenGen
}

// NewEncoder returns an encoder whose dynamic table takes at most maxTable octets, and at most
// [MaxEncoderTable]. With a maxTable of 0 the table is always empty.
func NewEncoder(maxTable uint32) *Encoder {
	e := new(Encoder)
	e.Init(maxTable)
	return e
}

// Init makes e what [NewEncoder] returns, for an Encoder that is a field of a struct. It reuses the
// memory of e.
func (e *Encoder) Init(maxTable uint32) {
	n := min(maxTable, MaxEncoderTable)
	*e = Encoder{t: e.t.emptied(), ceiling: n, goal: n, low: n, peer: DefaultTableSize, ready: true}
	e.t.max = n
	e.announce = n != DefaultTableSize
}

// SetMaxTableSize applies the peer's SETTINGS_HEADER_TABLE_SIZE, in octets. The next [Encoder.Begin]
// obeys and announces it. Call it between blocks.
//
// RFC 9113 section 4.3.1 lets the peer insist on a size update after each reduction of its setting, so
// one is sent even if the table was smaller already.
func (e *Encoder) SetMaxTableSize(n uint32) {
	e.setup()
	e.lastFrozen = frozenGen{}
	if n < e.peer {
		e.announce = true
	}
	e.peer = n
	e.goal = min(n, e.ceiling)
	e.low = min(e.low, e.goal)
}

// Begin starts a header block: it appends the dynamic table size updates that are
// due, most often none. Call it once before the block's fields, and before asking
// for the [Encoder.Generation] that a stored block is valid for.
//
// RFC 7541 section 4.2: "This dynamic table size update MUST occur at the beginning of the first header
// block following the change to the dynamic table size." And: "the smallest maximum table size that
// occurs in that interval MUST be signaled in a dynamic table size update." If the size was smaller in
// between, Begin announces 0 before the new size, which is as small as any and empties the table:
// golang.org/x/net refuses a second update while its table holds entries.
func (e *Encoder) Begin(dst []byte) []byte {
	e.setup()
	if e.low == e.t.max && e.goal == e.t.max && !e.announce {
		return dst
	}
	e.lastFrozen = frozenGen{}
	if e.low < e.goal {
		dst = e.update(dst, 0)
	}
	dst = e.update(dst, e.goal)
	e.low, e.announce = e.goal, false
	return dst
}

// AppendField appends one field to the block. It writes names as they are given: HTTP/2 wants them in
// lower case. The Encoder may keep the strings of fields that are in a table until the dynamic table
// changes. A field that is larger than the whole table is never added to it, whatever ix says.
func (e *Encoder) AppendField(dst []byte, name, value string, ix Indexing) []byte {
	if ix != NeverIndexed {
		if b, ok := e.AppendKnown(dst, name, value); ok {
			return b
		}
	}
	at, whole := findStatic(name, value)
	if whole && ix != NeverIndexed {
		e.recent.add(name, value, at, e.t.gen)
		return append(dst, 0x80|byte(at)) // static indices fit the 7-bit prefix
	}
	var hash uint32
	if e.t.n > 0 || ix == Incremental {
		hash = pairHash(name, value)
		byPair, byName := e.find(hash, name, value)
		if byPair != 0 && ix != NeverIndexed {
			e.recent.add(name, value, byPair, e.t.gen)
			return appendInt(dst, 0x80, 7, byPair)
		}
		if at == 0 {
			at = byName
		}
	}
	if ix == Incremental && uint64(len(name))+uint64(len(value))+entryOverhead > uint64(e.t.max) {
		ix = WithoutIndexing
	}
	form := literalForms[ix]
	dst = appendInt(dst, form.pattern, form.prefix, at)
	if at == 0 {
		dst = appendString(dst, name)
	}
	dst = appendString(dst, value)
	if ix == Incremental {
		room := e.t.push(len(name), len(value), hash)
		copy(room[copy(room, name):], value)
	}
	return dst
}

// AppendKnown appends a field that was sent recently and is in a table, as [Encoder.AppendField] would.
// It returns ok false and appends nothing if the field is not such a field.
func (e *Encoder) AppendKnown(dst []byte, name, value string) (_ []byte, ok bool) {
	i := e.recent.find(name, value, e.t.gen)
	if i == 0 {
		return dst, false
	}
	return appendInt(dst, 0x80, 7, i), true
}

// Generation changes whenever the dynamic table does. Fields that were encoded without changing it may
// be sent again, octet for octet, in a later block, as long as Generation after that block's
// [Encoder.Begin] is still the same.
func (e *Encoder) Generation() uint64 { return e.t.gen }

func (e *Encoder) setup() {
	if !e.ready {
		e.Init(MaxEncoderTable)
	}
}

// update sets the maximum size and appends the size update that announces it (RFC 7541 section 6.3).
func (e *Encoder) update(dst []byte, n uint32) []byte {
	e.t.setMax(n)
	return appendInt(dst, 0x20, 5, n)
}

// find returns the index of the newest dynamic entry with this name and value, and of one with this
// name; 0 means none.
func (e *Encoder) find(hash uint32, name, value string) (byPair, byName uint32) {
	for age := range e.t.n {
		ent := e.t.at(age)
		if ent.tag != hash && (byName != 0 || ent.tag>>16 != hash>>16) {
			continue
		}
		field := e.t.arena[ent.off:][:ent.nameLen+ent.valueLen]
		if string(field[:ent.nameLen]) != name {
			continue
		}
		if byName == 0 {
			byName = staticLen + 1 + age
		}
		if string(field[ent.nameLen:]) == value {
			return staticLen + 1 + age, byName
		}
	}
	return 0, byName
}

// findStatic returns the static index of the field, or else of its name; 0 means none.
func findStatic(name, value string) (at uint32, whole bool) {
	first := uint32(staticName(name))
	if first == 0 {
		return 0, false
	}
	for at = first; at <= staticLen && staticFields[at][0] == name; at++ {
		if staticFields[at][1] == value {
			// In RFC 7541 appendix A, entries that are only meant to be referred to by name have empty
			// values. A field with that name and an empty value is the same field.
			return at, true
		}
	}
	return first, false
}

// appendString appends a string literal (RFC 7541 section 5.2), in Huffman code if that is shorter.
func appendString(dst []byte, s string) []byte {
	if n := huffLen(s); n < len(s) {
		return appendHuff(appendInt(dst, 0x80, 7, uint32(n)), s)
	}
	return append(appendInt(dst, 0, 7, uint32(len(s))), s...)
}
