// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"encoding/binary"
	"sync/atomic"
)

// Freezing. The tables of an idle connection are written down in as few octets as
// they have, so that the memory they were worked with can serve another connection.
// The form is canonical: two equal states have equal forms, and connections whose
// peers say the same things can share one. It is not for other processes.

// Freeze appends the state of e to dst, for [Encoder.Thaw]. Call it between blocks.
func (e *Encoder) Freeze(dst []byte) []byte {
	e.setup()
	dst = append(dst, flag(e.announce))
	for _, n := range [...]uint32{e.ceiling, e.goal, e.low, e.peer} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return e.t.freeze(dst)
}

// Thaw makes e go on where the Encoder stood that s was frozen from, with another
// Generation. Whatever e was before is gone, but for its memory.
func (e *Encoder) Thaw(s string) {
	r := ice{s: s}
	e.announce, e.ready = r.flag(), true
	e.ceiling, e.goal, e.low, e.peer = r.number(), r.number(), r.number(), r.number()
	arena := e.t.thaw(&r)
	for age := range e.t.n {
		ent := e.t.at(age)
		field := arena[ent.off:]
		ent.tag = pairHash(field[:ent.nameLen], field[ent.nameLen:][:ent.valueLen])
	}
}

// Freeze appends the state of d to dst, for [Decoder.Thaw], but for what SetKinds
// was told. Call it between blocks.
func (d *Decoder) Freeze(dst []byte) []byte {
	d.setup()
	dst = append(dst, flag(d.owes))
	dst = binary.AppendUvarint(dst, uint64(d.allowed))
	if d.owes {
		dst = binary.AppendUvarint(dst, uint64(d.owed))
	}
	dst = d.t.freeze(dst)
	for i := d.t.n; i > 0; i-- {
		dst = append(dst, byte(d.t.at(i-1).tag))
	}
	return dst
}

// Thaw makes d go on where the Decoder stood that s was frozen from, with another
// Generation, and with the same kinds, which the caller says again. Whatever d was
// before is gone, but for its memory.
func (d *Decoder) Thaw(s string, k *Kinds) {
	r := ice{s: s}
	d.owes, d.ready = r.flag(), true
	d.inside, d.updated, d.passed, d.pages = false, false, 0, run{}
	d.allowed, d.owed = r.number(), 0
	if d.owes {
		d.owed = r.number()
	}
	octets := d.t.thaw(&r)
	kinds := octets[len(d.t.arena):]
	for i := range d.t.n {
		d.t.ring[i].tag = uint32(kinds[i])
	}
	d.SetKinds(k)
}

// Reset makes d a new Decoder with k as its kinds, in the memory it has.
func (d *Decoder) Reset(k *Kinds) {
	*d = Decoder{t: d.t.emptied()}
	d.SetKinds(k)
}

// Cap is how much memory e holds, in octets: for a pool that wants no large one.
func (e *Encoder) Cap() int { return e.t.cap() }

// Cap is how much memory d holds, in octets: for a pool that wants no large one.
func (d *Decoder) Cap() int { return d.t.cap() }

// freeze appends the sizes of the entries, oldest first, and then their octets.
func (t *table) freeze(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(t.max))
	dst = binary.AppendUvarint(dst, uint64(t.n))
	for i := t.n; i > 0; i-- {
		e := t.at(i - 1)
		dst = binary.AppendUvarint(dst, uint64(e.nameLen))
		dst = binary.AppendUvarint(dst, uint64(e.valueLen))
	}
	return append(dst, t.arena[t.start():]...)
}

// thaw undoes freeze, but for the tags, and returns what stands in r from the
// octets on.
func (t *table) thaw(r *ice) string {
	*t = t.emptied()
	t.max, t.n = r.number(), r.number()
	places := minRing
	for places < int(t.n) {
		places *= 2
	}
	if t.n > 0 && len(t.ring) < places {
		t.ring, t.lent = make([]entry, places), nil
	}
	off := uint32(0)
	for i := range t.n {
		e := entry{off: off, nameLen: r.number(), valueLen: r.number()}
		t.ring[i] = e
		t.size += e.size()
		off += e.nameLen + e.valueLen
	}
	t.arena = append(t.arena, r.s[:off]...)
	return r.s
}

// emptied is a table without entries in the memory of t. Its generation is none
// that another one ever had: what was remembered by it can't be taken for new.
func (t *table) emptied() table {
	clear(t.lent) // it is another connection's
	if len(t.lent) != len(t.ring) {
		t.lent = nil
	}
	return table{arena: t.arena[:0], ring: t.ring, lent: t.lent, gen: generations.Add(1) << 32}
}

func (t *table) cap() int {
	return cap(t.arena) + len(t.ring)*entrySize + len(t.lent)*lentSize
}

// entrySize is unsafe.Sizeof(entry{}), held by a test.
const entrySize = 16

var generations atomic.Uint64

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// ice is a cursor over a frozen state, which is this package's own work and needs
// no checks.
type ice struct{ s string }

func (r *ice) flag() bool {
	b := r.s[0]
	r.s = r.s[1:]
	return b != 0
}

func (r *ice) number() uint32 {
	n, shift := uint32(0), 0
	for i := 0; ; i++ {
		b := r.s[i]
		n |= uint32(b&0x7f) << shift
		if b < 0x80 {
			r.s = r.s[i+1:]
			return n
		}
		shift += 7
	}
}
