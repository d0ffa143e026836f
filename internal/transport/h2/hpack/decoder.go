// SPDX-License-Identifier: Apache-2.0

package hpack

// Decoder decodes the header blocks of one connection. The zero value is ready for use and allows the
// peer a dynamic table of 4096 octets.
type Decoder struct {
	t          table
	kinds      *Kinds
	allowed    uint32 // the maximum of any size update
	owed       uint32 // if owes: the maximum of the next block's first size update
	owes       bool
	ready      bool
	lastFrozen frozenGen

	// The state of the block that is being decoded.
	inside  bool // its first field has begun
	updated bool // it has begun with a size update
	passed  int  // how many of its octets are decoded
}

// SetAllowedMaxTableSize bounds the peer's dynamic table, in octets. Call it when the peer acknowledges
// the SETTINGS_HEADER_TABLE_SIZE that announced n. The table itself changes only when the peer sends a
// size update. The peer must send one at once if the bound fell below the size that it uses.
func (d *Decoder) SetAllowedMaxTableSize(n uint32) {
	d.setup()
	d.allowed, d.lastFrozen = n, frozenGen{}
	if n >= d.t.max {
		return
	}
	if !d.owes || n < d.owed {
		d.owes, d.owed = true, n
		d.t.gen++
	}
}

// SetKinds makes k determine the kinds of the fields in lists. Call it before the first block. A nil k
// makes the kind of a field the index of its name in the static table.
func (d *Decoder) SetKinds(k *Kinds) {
	d.setup()
	if k == nil {
		k = staticKinds
	}
	d.kinds = k
}

// Generation changes whenever the dynamic table or a bound on it changes. A block that was decoded
// without changing it decodes to the same fields again as long as Generation stays the same.
func (d *Decoder) Generation() uint64 { return d.t.gen }

// Decode adds the fields of block, a whole header block, to l. An error is always an [*Error]. After it
// l and d must not be used: the connection must be closed with COMPRESSION_ERROR. A block over l's
// limit is no error: d updates the table, but adds no more fields to l, see [List.TooLarge].
//
// RFC 9113 section 4.3: "A decoding error in a field block MUST be treated as a connection error of
// type COMPRESSION_ERROR."
func (d *Decoder) Decode(block []byte, l *List) error {
	_, _, err := d.DecodePart(block, l, false)
	return err
}

// DecodePart is Decode for a block that comes in parts. more says that p is not the last part.
// DecodePart decodes the whole fields in p, which are the first n octets. The caller puts the other
// octets in front of the next part, and calls DecodePart again when there are at least need octets.
func (d *Decoder) DecodePart(p []byte, l *List, more bool) (n, need int, err error) {
	d.setup()
	r := reader{b: p}
	for !d.inside && (r.off < len(p) || !more) {
		at := r.off
		done, err := d.sizeUpdate(&r, !d.updated)
		if err != nil {
			return d.cutOff(&r, at, more, err)
		}
		d.updated, d.inside = true, done
	}
	for r.off < len(p) {
		at, length := r.off, len(l.buf)
		if err := d.field(&r, l); err != nil {
			l.buf = l.buf[:length]
			return d.cutOff(&r, at, more, err)
		}
	}
	d.passed += len(p)
	if !more {
		d.passed, d.updated, d.inside = 0, false, false
	}
	return len(p), 0, nil
}

// cutOff handles an error in the representation that begins at octet at. It is not an error if p ends
// within that representation and more follows.
func (d *Decoder) cutOff(r *reader, at int, more bool, err error) (n, need int, _ error) {
	if more && err == errTruncated {
		d.passed += at
		return at, r.need - at, nil
	}
	return 0, 0, &Error{d.passed + at, err}
}

func (d *Decoder) setup() {
	if d.ready {
		return
	}
	d.ready, d.kinds = true, staticKinds
	d.allowed, d.t.max = DefaultTableSize, DefaultTableSize
}

// sizeUpdate applies one size update at the beginning of the block. done means that there was none.
//
// RFC 9113 section 4.3.1: "An endpoint MUST treat a field block that follows an
// acknowledgment of the reduction to the maximum dynamic table size as a connection
// error of type COMPRESSION_ERROR if it does not start with a conformant Dynamic
// Table Size Update instruction."
//
// RFC 7541 section 6.3: "The new maximum size MUST be lower than or equal to the
// limit determined by the protocol using HPACK. A value that exceeds this limit MUST
// be treated as a decoding error."
func (d *Decoder) sizeUpdate(r *reader, first bool) (done bool, err error) {
	if r.off == len(r.b) || r.b[r.off]&0xe0 != 0x20 {
		if d.owes {
			return true, errUpdateMissing
		}
		return true, nil
	}
	n, err := r.integer(5)
	if err != nil {
		return false, err
	}
	if n > d.allowed || (first && d.owes && n > d.owed) {
		return false, errUpdateTooLarge
	}
	if d.owes {
		d.owes, d.lastFrozen = false, frozenGen{}
	}
	d.t.setMax(n)
	return false, nil
}

// field decodes one representation (RFC 7541 section 6) other than a size update.
func (d *Decoder) field(r *reader, l *List) error {
	switch b := r.b[r.off]; {
	case b >= 0x80:
		return d.indexed(r, l)
	case b >= 0x40:
		return d.literal(r, l, Incremental)
	case b >= 0x20:
		// RFC 7541 section 4.2: the update "MUST occur at the beginning of the
		// first header block following the change".
		return errLateUpdate
	case b >= 0x10:
		return d.literal(r, l, NeverIndexed)
	default:
		return d.literal(r, l, WithoutIndexing)
	}
}

// indexed decodes an indexed field, RFC 7541 section 6.1.
func (d *Decoder) indexed(r *reader, l *List) error {
	i, err := r.integer(7)
	if err != nil {
		return err
	}
	e, err := d.lookup(i)
	if err != nil {
		return err
	}
	if !l.count(int(e.nameLen), int(e.valueLen)) {
		return nil
	}
	f := listField{whole: true, nameLen: e.nameLen, valueLen: e.valueLen, kind: uint8(e.tag)}
	if i <= staticLen {
		f.static = uint8(i)
	} else {
		f.field = d.intern(i - staticLen - 1)
		f.flawed = f.field.flawed
	}
	l.fields = append(l.fields, f)
	return nil
}

// literal decodes a literal field, RFC 7541 section 6.2. It also uses the list's buffer for fields that
// only the table stores.
func (d *Decoder) literal(r *reader, l *List, ix Indexing) error {
	i, err := r.integer(literalForms[ix].prefix)
	if err != nil {
		return err
	}
	most := l.room()
	if ix == Incremental {
		most = max(most, uint64(d.t.max))
	}
	start := len(l.buf)
	f := listField{off: uint32(start)}
	if err := d.name(r, l, i, &f, most); err != nil {
		return err
	}
	valueLen, err := l.literal(r, most)
	if err != nil {
		return err
	}
	f.valueLen = uint32(valueLen)
	stored := l.count(int(f.nameLen), valueLen)
	if ix == Incremental {
		d.insert(l, &f)
	}
	if stored {
		f.flawed = d.kinds.isFlawed(l.value(&f))
		l.fields = append(l.fields, f)
	} else {
		l.buf = l.buf[:start]
	}
	return nil
}

// name reads the name of a literal field into f. If i is not 0, the name is a reference to the one at
// index i. Otherwise it is a string, which name appends to the list's buffer.
func (d *Decoder) name(r *reader, l *List, i uint32, f *listField, most uint64) error {
	if i != 0 {
		e, err := d.lookup(i)
		if err != nil {
			return err
		}
		f.nameLen, f.kind = e.nameLen, uint8(e.tag)
		d.referToName(f, i)
		return nil
	}
	n, err := l.literal(r, most)
	if err != nil {
		return err
	}
	f.nameLen, f.kind = uint32(n), d.kinds.of(l.buf[f.off:])
	return nil
}

// referToName makes f refer to the name at index i of both tables. The index must exist.
func (d *Decoder) referToName(f *listField, i uint32) {
	var name *Field
	if i <= staticLen {
		name = &staticNames[i]
	} else {
		name = d.internName(i - staticLen - 1)
	}
	if f.static = name.static; f.static == 0 {
		f.field = name
	}
}

// intern returns the Field of the entry that was inserted age entries before the newest one, and makes
// it if there is none.
func (d *Decoder) intern(age uint32) *Field {
	in := d.t.internedOf(age)
	if in.field != nil {
		return in.field
	}
	name, value := d.t.octets(age)
	f := &Field{text: textOf(in.name, name, value), flawed: d.kinds.isFlawed(value)}
	if in.name == nil {
		in.name = f
	}
	in.field = f
	return f
}

// internName returns a Field with the name of the entry that was inserted age entries before the newest
// one.
func (d *Decoder) internName(age uint32) *Field {
	in := d.t.internedOf(age)
	if in.name == nil {
		name, _ := d.t.octets(age)
		in.name = &Field{text: textOf(nil, name, nil)}
	}
	return in.name
}

// lookup returns the entry at an index in the address space of both tables (RFC 7541 section 2.3.3).
// The entry's tag is the kind of its name.
//
// RFC 7541 section 6.1: "The index value of 0 is not used. It MUST be treated as a
// decoding error if found in an indexed header field representation." Section 2.3.3:
// "Indices strictly greater than the sum of the lengths of both tables MUST be
// treated as a decoding error."
func (d *Decoder) lookup(i uint32) (e entry, err error) {
	switch {
	case i == 0:
		return entry{}, errIndexZero
	case i <= staticLen:
		e = staticEntries[i]
		e.tag = uint32(d.kinds.static[i])
		return e, nil
	case i-staticLen <= d.t.n:
		return *d.t.at(i - staticLen - 1), nil
	default:
		return entry{}, errIndexTooLarge
	}
}

// insert adds f to the table. Its octets are in l, all of them unless f is too large for the table.
//
// RFC 7541 section 4.4: "an attempt to add an entry larger than the maximum size
// causes the table to be emptied of all existing entries".
func (d *Decoder) insert(l *List, f *listField) {
	if uint64(f.nameLen)+uint64(f.valueLen)+entryOverhead > uint64(d.t.max) {
		d.t.evict(0)
		return
	}
	place := d.t.push(int(f.nameLen), int(f.valueLen), uint32(f.kind))
	switch {
	case f.field != nil:
		d.t.internedOf(0).name = f.field
	case f.static != 0:
		d.t.internedOf(0).name = &staticNames[f.static]
	}
	copy(place[copy(place, l.name(f)):], l.value(f))
}

// literal appends a string literal (RFC 7541 section 5.2) to the buffer and returns its length. A
// string longer than most is checked and measured, but not stored.
func (l *List) literal(r *reader, most uint64) (int, error) {
	if r.off == len(r.b) {
		return 0, r.truncated(1)
	}
	coded := r.b[r.off] >= 0x80
	n, err := r.integer(7)
	if err != nil {
		return 0, err
	}
	s, err := r.octets(n)
	if err != nil {
		return 0, err
	}
	if !coded {
		if uint64(len(s)) <= most {
			l.buf = append(l.buf, s...)
		}
		return len(s), nil
	}
	if huffBound(len(s)) > most {
		if n, err := unhuffLen(s); err != nil || uint64(n) > most {
			return n, err
		}
	}
	start := len(l.buf)
	l.buf, err = appendUnhuff(l.buf, s)
	return len(l.buf) - start, err
}
