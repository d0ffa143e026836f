// SPDX-License-Identifier: Apache-2.0

package hpack

import "math"

const (
	// DefaultTableSize is the SETTINGS_HEADER_TABLE_SIZE, in octets, of a connection where none was
	// announced: RFC 9113 section 6.5.2.
	DefaultTableSize = 4096

	// entryOverhead is what RFC 7541 section 4.1 adds to the octets of an entry.
	entryOverhead = 32

	minRing   = 8  // entries; a power of two
	arenaStep = 64 // arena capacities are multiples of this
)

// entry is one field: its name and then its value in the arena, without a gap.
type entry struct {
	off      uint32
	nameLen  uint32
	valueLen uint32
	tag      uint32 // encoder: pairHash of the field; decoder: kind of the name
}

func (e entry) size() uint32 { return e.nameLen + e.valueLen + entryOverhead }

// table is a dynamic table (RFC 7541 section 2.3.2).
//
// The ring's length is zero or a power of two. Live entries are in n places from head, the oldest, on.
// Their octets are in arena, in the same order, without gaps, from the oldest entry's off to
// len(arena). The space in front of them, which evicted entries have left, is reclaimed when the end of
// the arena is reached.
type table struct {
	arena []byte
	ring  []entry
	known []interned // decoder: nil, or for each place of the ring, the Fields of its entry
	gen   uint64
	head  uint32
	n     uint32
	size  uint32 // as section 4.1 counts; never above max
	max   uint32
}

// at returns the entry that was inserted age entries before the newest one; age must be below t.n.
func (t *table) at(age uint32) *entry { return &t.ring[t.slot(age)] }

// slot returns the place in the ring of the entry that was inserted age entries before the newest one.
func (t *table) slot(age uint32) uint32 { return (t.head + t.n - 1 - age) & uint32(len(t.ring)-1) }

// push adds an entry and returns the place for the octets of its name and value. The caller must fill
// that place before t is used again. The entry must fit t.max. The octets must not come from t itself:
// push moves the octets of t before the caller copies them.
func (t *table) push(nameLen, valueLen int, tag uint32) []byte {
	need := nameLen + valueLen
	t.evict(t.max - uint32(need) - entryOverhead)
	t.reserve(need)
	if int(t.n) == len(t.ring) {
		t.resizeRing(max(minRing, 2*int(t.n)))
	}
	off := len(t.arena)
	t.arena = t.arena[:off+need]
	t.n++
	e := t.at(0)
	*e = entry{uint32(off), uint32(nameLen), uint32(valueLen), tag}
	t.size += e.size()
	t.gen++
	return t.arena[off:]
}

// evict drops the oldest entries until the table's size is at most to.
func (t *table) evict(to uint32) {
	for t.size > to {
		t.size -= t.ring[t.head].size()
		if t.known != nil {
			t.known[t.head] = interned{}
		}
		t.head = (t.head + 1) & uint32(len(t.ring)-1)
		t.n--
		t.gen++
	}
	if t.n == 0 {
		t.arena = t.arena[:0]
	}
}

// setMax changes the maximum size, with the eviction of RFC 7541 section 4.3.
func (t *table) setMax(n uint32) {
	if n == t.max {
		return
	}
	t.max = n
	t.gen++
	t.evict(n)
	if uint64(cap(t.arena)) > t.arenaLimit() {
		t.trim()
	}
}

// arenaLimit bounds the arena's capacity. It is a quarter above the maximum size, so that a full table
// is not compacted at each insertion.
func (t *table) arenaLimit() uint64 {
	return min(uint64(t.max)+uint64(t.max)/4, math.MaxUint32)
}

// start returns where in the arena the oldest entry's octets begin.
func (t *table) start() int {
	if t.n == 0 {
		return len(t.arena)
	}
	return int(t.ring[t.head].off)
}

// reserve makes room for need octets at the arena's end. It moves the live octets to the front if that
// frees a quarter of the arena, or if the arena may not grow. Otherwise the arena grows.
func (t *table) reserve(need int) {
	c := cap(t.arena)
	if c-len(t.arena) >= need {
		return
	}
	total := len(t.arena) - t.start() + need
	if total <= c-c/4 || (total <= c && uint64(c) >= t.arenaLimit()) {
		t.move(t.arena)
		return
	}
	want := min(uint64(c)+uint64(c)/2, t.arenaLimit())
	want = max(want, uint64(total), arenaStep)
	t.move(make([]byte, 0, (want+arenaStep-1)/arenaStep*arenaStep))
}

// move copies the live octets to the front of dst, which becomes the arena.
func (t *table) move(dst []byte) {
	start := t.start()
	dst = dst[:len(t.arena)-start]
	copy(dst, t.arena[start:])
	t.arena = dst
	for age := range t.n {
		t.at(age).off -= uint32(start)
	}
}

// resizeRing moves the entries to a ring of n places, a power of two or zero.
func (t *table) resizeRing(n int) {
	ring := make([]entry, n)
	var known []interned
	if t.known != nil {
		known = make([]interned, n)
	}
	for age := range t.n {
		ring[t.n-1-age] = *t.at(age)
		if known != nil {
			known[t.n-1-age] = t.known[t.slot(age)]
		}
	}
	t.ring, t.known, t.head = ring, known, 0
}

// trim gives back memory that live entries do not need. Indices of entries stay valid, so t.gen stays
// the same.
func (t *table) trim() {
	if t.n == 0 {
		t.arena, t.ring, t.known, t.head = nil, nil, nil, 0
		return
	}
	if live := len(t.arena) - t.start(); cap(t.arena)-live >= arenaStep {
		t.move(make([]byte, 0, live))
	}
	places := minRing
	for places < int(t.n) {
		places *= 2
	}
	if places < len(t.ring) {
		t.resizeRing(places)
	}
}

// internedOf returns the Fields of the entry that was inserted age entries before the newest one.
func (t *table) internedOf(age uint32) *interned {
	if t.known == nil {
		t.known = make([]interned, len(t.ring))
	}
	return &t.known[t.slot(age)]
}

// octets returns the name and the value of the entry that was inserted age entries before the newest
// one.
func (t *table) octets(age uint32) (name, value []byte) {
	e := t.at(age)
	b := t.arena[e.off:][:e.nameLen+e.valueLen]
	return b[:e.nameLen], b[e.nameLen:]
}
