// SPDX-License-Identifier: Apache-2.0

package hpack

import "encoding/binary"

// Freeze returns the state of e, for [Encoder.Thaw]. Call it between blocks.
func (e *Encoder) Freeze() Frozen {
	e.setup()
	if !e.lastFrozen.is(e.lastFrozen.as, e.t.gen) {
		var scratch [512]byte
		e.lastFrozen = frozenGen{frozenAs(e.freeze(scratch[:0])), e.t.gen}
	}
	return e.lastFrozen.as
}

func (e *Encoder) freeze(dst []byte) []byte {
	dst = append(dst, flag(e.announce))
	for _, n := range [...]uint32{e.ceiling, e.goal, e.low, e.peer} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return e.t.freeze(dst)
}

// Thaw gives e the state f. Generation changes if e had another state. Of what e was before, it keeps
// only the memory.
func (e *Encoder) Thaw(f Frozen) {
	if e.lastFrozen.is(f, e.t.gen) {
		return
	}
	e.thaw(f)
	e.lastFrozen = frozenGen{f, e.t.gen}
}

func (e *Encoder) thaw(f Frozen) {
	r := frozenReader{s: f.state.Value()}
	e.announce, e.ready = r.flag(), true
	e.ceiling, e.goal, e.low, e.peer = r.number(), r.number(), r.number(), r.number()
	arena := e.t.thaw(&r)
	for age := range e.t.n {
		ent := e.t.at(age)
		field := arena[ent.off:]
		ent.tag = pairHash(field[:ent.nameLen], field[ent.nameLen:][:ent.valueLen])
	}
}

// Freeze returns the state of d, for [Decoder.Thaw], without its Kinds and its Fields. Call it between
// blocks.
func (d *Decoder) Freeze() Frozen {
	d.setup()
	if !d.lastFrozen.is(d.lastFrozen.as, d.t.gen) {
		var scratch [512]byte
		d.lastFrozen = frozenGen{frozenAs(d.freeze(scratch[:0])), d.t.gen}
	}
	return d.lastFrozen.as
}

func (d *Decoder) freeze(dst []byte) []byte {
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

// Thaw gives d the state f. Generation changes if d had another state. k must be the Kinds that d had
// when it was frozen. Of what d was before, it keeps only the memory.
func (d *Decoder) Thaw(f Frozen, k *Kinds) {
	if d.Rest(); k == nil {
		k = staticKinds
	}
	if d.lastFrozen.is(f, d.t.gen) && d.kinds == k {
		return
	}
	d.thaw(f, k)
	d.lastFrozen = frozenGen{f, d.t.gen}
}

func (d *Decoder) thaw(f Frozen, k *Kinds) {
	r := frozenReader{s: f.state.Value()}
	d.owes, d.ready = r.flag(), true
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

// Kept is the Fields of a frozen decoder that have Holders, by the age of their entries.
type Kept []interned

// worthKeeping is the memory of Fields, in octets, from which Keep keeps them. Fields that take less,
// as those of most streams do, would take about as much memory to keep as to make again.
const worthKeeping = 1 << 10

// Keep returns the Fields that have Holders, to be kept together with what Freeze returns. Otherwise a
// peer could make us store the same octets again after each Thaw. It returns nil if they take little
// memory.
func (d *Decoder) Keep() Kept {
	if d.t.known == nil || d.held() < worthKeeping {
		return nil
	}
	var kept Kept
	for age := range d.t.n {
		in := *d.t.internedOf(age)
		if in.field.isHeld() || in.name.isHeld() {
			kept = append(kept, make(Kept, int(age)+1-len(kept))...)
			kept[age] = in
		}
	}
	return kept
}

// held returns how much memory the Fields with Holders take.
func (d *Decoder) held() (size int) {
	for age := range d.t.n {
		if f := d.t.internedOf(age).field; f.isHeld() {
			size += f.Size()
		}
	}
	return size
}

func (f *Field) isHeld() bool { return f != nil && f.Holders > 0 }

// Restore puts back what Keep returned. Call it after Thaw.
func (d *Decoder) Restore(kept Kept) {
	for age, in := range kept {
		*d.t.internedOf(uint32(age)) = in
	}
}

// Reset makes d a new Decoder with the Kinds k. It reuses the memory of d.
func (d *Decoder) Reset(k *Kinds) {
	*d = Decoder{t: d.t.emptied()}
	d.SetKinds(k)
}

// Rest drops everything that belongs to the connection, also of a block that was not decoded to its
// end. Call Thaw or Reset before d is used again.
func (d *Decoder) Rest() {
	d.inside, d.updated, d.passed = false, false, 0
	clear(d.t.known)
}

// Cap returns how much memory e holds, in octets: a pool may drop large ones.
func (e *Encoder) Cap() int { return e.t.cap() }

// Cap returns how much memory d holds, in octets: a pool may drop large ones.
func (d *Decoder) Cap() int { return d.t.cap() }
