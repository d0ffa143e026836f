// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"encoding/binary"
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
