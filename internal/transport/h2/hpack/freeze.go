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

// Thaw gives e the state that Freeze returned, with another Generation if e has another state. Of
// what e was before it keeps only the memory.
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

// Freeze returns the state of d, for [Decoder.Thaw], without its Kinds and the Fields that
// blocks referred to. Call it
// between blocks.
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

// Thaw gives d the state that Freeze returned, with another Generation if d has another state. k
// has to be what it was. Of what d was before it keeps only the memory.
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

// Kept is a decoder's Fields that somebody holds, while the decoder is frozen, by the age of their
// entries.
type Kept []interned

// worthKeeping is from how much memory on Fields are kept, in octets. Others, as most streams have,
// would take about as much to keep as to make again.
const worthKeeping = 1 << 10

// Keep returns the Fields with Holders, to be kept beside what Freeze returns: else a peer could
// have the same octets written again after each Thaw. It is nil if these take little.
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

// held is how much memory the Fields with Holders take.
func (d *Decoder) held() (size int) {
	for age := range d.t.n {
		if f := d.t.internedOf(age).field; f.isHeld() {
			size += f.Size()
		}
	}
	return size
}

func (f *Field) isHeld() bool { return f != nil && f.Holders > 0 }

// Restore gives back what Keep returned, after Thaw.
func (d *Decoder) Restore(kept Kept) {
	for age, in := range kept {
		*d.t.internedOf(uint32(age)) = in
	}
}

// Reset makes d a new Decoder with k as its kinds, in the memory it has.
func (d *Decoder) Reset(k *Kinds) {
	*d = Decoder{t: d.t.emptied()}
	d.SetKinds(k)
}

// Rest lets go of what belongs to a connection, and of a block that was not decoded to its end:
// Thaw, or Reset, follows.
func (d *Decoder) Rest() {
	d.inside, d.updated, d.passed = false, false, 0
	clear(d.t.known)
}

// Cap is how much memory e holds, in octets: for a pool that keeps no large ones.
func (e *Encoder) Cap() int { return e.t.cap() }

// Cap is how much memory d holds, in octets: for a pool that keeps no large ones.
func (d *Decoder) Cap() int { return d.t.cap() }
