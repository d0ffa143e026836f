// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"encoding/binary"
)

// Freezing. The table of a connection that is not used for a while is written to a string
// that is as short as can be, so that the memory of the Encoder or Decoder can serve another
// connection. The form is canonical: equal states have equal forms, and connections whose
// peers say the same things can share one. It is valid within the process only.

// Freeze appends the state of e to dst, for [Encoder.Thaw]. Call it between blocks.
func (e *Encoder) Freeze(dst []byte) []byte {
	e.setup()
	dst = append(dst, flag(e.announce))
	for _, n := range [...]uint32{e.ceiling, e.goal, e.low, e.peer} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return e.t.freeze(dst)
}

// Thaw gives e the state that Freeze wrote to s, with another Generation. Of what e was
// before it keeps only the memory.
func (e *Encoder) Thaw(s string) {
	r := frozenReader{s: s}
	e.announce, e.ready = r.flag(), true
	e.ceiling, e.goal, e.low, e.peer = r.number(), r.number(), r.number(), r.number()
	arena := e.t.thaw(&r)
	for age := range e.t.n {
		ent := e.t.at(age)
		field := arena[ent.off:]
		ent.tag = pairHash(field[:ent.nameLen], field[ent.nameLen:][:ent.valueLen])
	}
}

// Freeze appends the state of d to dst, for [Decoder.Thaw], without its Kinds and its
// pages. Call it between blocks.
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

// Thaw gives d the state that Freeze wrote to s, with another Generation. k has to be what
// it was. Of what d was before it keeps only the memory.
func (d *Decoder) Thaw(s string, k *Kinds) {
	r := frozenReader{s: s}
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

// Cap is how much memory e holds, in octets: for a pool that keeps no large ones.
func (e *Encoder) Cap() int { return e.t.cap() }

// Cap is how much memory d holds, in octets: for a pool that keeps no large ones.
func (d *Decoder) Cap() int { return d.t.cap() }
