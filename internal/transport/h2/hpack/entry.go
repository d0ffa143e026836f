// SPDX-License-Identifier: Apache-2.0

package hpack

// Entry is a field of a decoder's dynamic table that a block has referred to: its octets,
// for as long as anybody has a use for them, however often a peer refers to it in an
// octet or two. They do not change.
type Entry struct {
	octets  []byte // name first
	nameLen uint32
	place   uint32 // among the entries of the list that is being decoded; the decoder's

	// These are for the decoder's owner: how many hold the entry beside the table, and
	// whether its value was looked at and found good. A peer refers to an entry in a byte, and
	// does so thousands of times in a block.
	Holders int32
	Sound   bool
}

// Size is the memory that e takes, in octets.
func (e *Entry) Size() int { return cap(e.octets) + entryStructSize }

// entryStructSize is the allocator's size class for an Entry, held by a test.
const entryStructSize = 48

// StaticLen is how many fields the static table has.
const StaticLen = staticLen

// Name and Value are those of the field that ref stands for: 1 to 61 the static table's,
// what is above counts up entries. They do not change.
func Name(ref uint32, entries []*Entry) []byte {
	if ref > staticLen {
		e := entries[ref-staticLen-1]
		return e.octets[:e.nameLen:e.nameLen]
	}
	e := &staticEntries[ref]
	return staticArena[e.off:][:e.nameLen:e.nameLen]
}

// Value is the value of what ref stands for, like [Name].
func Value(ref uint32, entries []*Entry) []byte {
	if ref > staticLen {
		e := entries[ref-staticLen-1]
		return e.octets[e.nameLen:]
	}
	e := &staticEntries[ref]
	return staticArena[e.off+e.nameLen:][:e.valueLen:e.valueLen]
}

// refer gives the reference to e within l.
func (l *List) refer(e *Entry) uint32 {
	if int(e.place) >= len(l.entries) || l.entries[e.place] != e {
		e.place = uint32(len(l.entries))
		l.entries = append(l.entries, e)
	}
	return staticLen + 1 + e.place
}

// share returns the Entry of the field inserted age entries before the newest one.
func (t *table) share(age uint32) *Entry {
	if len(t.shared) != len(t.ring) {
		t.shared = make([]*Entry, len(t.ring))
	}
	e := &t.shared[t.slot(age)]
	if *e == nil {
		f := t.at(age)
		*e = &Entry{octets: append([]byte(nil), t.arena[f.off:][:f.nameLen+f.valueLen]...), nameLen: f.nameLen}
	}
	return *e
}

// fewFields is how many fields a list may have for a name of fewLetters to be copied
// rather than shared: a peer that gives a name one value after the other, each a new entry,
// would have an Entry made for each.
const fewFields, fewLetters = 32, 32

// copiesName reports whether a literal's name, at index i, is better copied.
func (d *Decoder) copiesName(i uint32, l *List) bool {
	if i <= staticLen || len(l.fields) >= fewFields {
		return false
	}
	age := i - staticLen - 1
	return d.t.at(age).nameLen <= fewLetters && (len(d.t.shared) != len(d.t.ring) || d.t.shared[d.t.slot(age)] == nil)
}

// unshare forgets the Entry of a place in the ring.
func (t *table) unshare(slot uint32) {
	if t.shared != nil {
		t.shared[slot] = nil
	}
}

// largeEntry is how many octets an Entry has that is kept while the table is frozen. Small
// ones are made again: a peer that has them made again and again gains less from each
// than it costs to open a stream.
const largeEntry = 256

// Kept is the large entries that a table has shared, while it is frozen.
type Kept struct {
	ages    []uint32
	entries []*Entry
}

// Keep returns what is to be kept beside what Freeze writes; nil if there is nothing.
func (d *Decoder) Keep() *Kept {
	var k *Kept
	for age := range min(d.t.n, uint32(len(d.t.shared))) {
		if e := d.t.shared[d.t.slot(age)]; e != nil && len(e.octets) >= largeEntry {
			if k == nil {
				k = new(Kept)
			}
			k.ages, k.entries = append(k.ages, age), append(k.entries, e)
		}
	}
	return k
}

// Restore gives back what Keep returned, after Thaw.
func (d *Decoder) Restore(k *Kept) {
	if k == nil {
		return
	}
	d.t.shared = make([]*Entry, len(d.t.ring))
	for i, age := range k.ages {
		d.t.shared[d.t.slot(age)] = k.entries[i]
	}
}
