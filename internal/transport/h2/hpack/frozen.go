// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"encoding/binary"
	"sync/atomic"
	"unique"
)

// Frozen is the state of an Encoder or a Decoder whose connection is not used for a while. It is a
// string that is as short as possible, so that the memory of the Encoder or Decoder can serve another
// connection. The form is canonical, and connections whose states are equal share one string: as a rule
// all clients that run the same program do. The zero value is the state of a new connection.
//
// An Encoder or Decoder that has not changed since it was last frozen or thawed still has that state:
// it is neither written nor parsed again. Where many connections have few calls, few of these calls
// change the state.
type Frozen struct{ state unique.Handle[string] }

// IsNew reports whether f is the zero value. There is nothing to thaw then.
func (f Frozen) IsNew() bool { return f == Frozen{} }

func frozenAs(state []byte) Frozen { return Frozen{unique.Make(string(state))} }

// frozenGen is the last Frozen of a table, and the generation that the table had then.
type frozenGen struct {
	as  Frozen
	gen uint64
}

func (s frozenGen) is(f Frozen, gen uint64) bool { return !f.IsNew() && s == frozenGen{f, gen} }

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

// thaw restores what freeze wrote, without the tags. It returns the rest of r, from the octets of the
// entries on.
func (t *table) thaw(r *frozenReader) string {
	*t = t.emptied()
	t.max, t.n = r.number(), r.number()
	places := minRing
	for places < int(t.n) {
		places *= 2
	}
	if t.n > 0 && len(t.ring) < places {
		t.ring, t.known = make([]entry, places), nil
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

// emptied returns a table without entries that reuses the memory of t. No other table has ever had its
// generation, so that nothing remembered about another table can be mistaken for its own. t serves many
// connections, one after the other, and reserves a block of generations at a time.
func (t *table) emptied() table {
	clear(t.known) // it is another connection's
	gen := t.gen>>32 + 1
	if gen < block || gen%block == 0 {
		gen = blocks.Add(1) * block
	}
	return table{arena: t.arena[:0], ring: t.ring, known: t.known, gen: gen << 32}
}

func (t *table) cap() int {
	return cap(t.arena) + len(t.ring)*entrySize + len(t.known)*internedSize
}

// entrySize is unsafe.Sizeof(entry{}). A test checks it.
const entrySize = 16

// block is the number of connections for which a table reserves generations at a time. No table uses
// those of the first block, except that a new table begins at 0.
const block = 256

// blocks counts the blocks that are reserved.
var blocks atomic.Uint64

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// frozenReader reads a frozen state. This package has written the state itself and need not check it.
type frozenReader struct{ s string }

func (r *frozenReader) flag() bool {
	b := r.s[0]
	r.s = r.s[1:]
	return b != 0
}

func (r *frozenReader) number() uint32 {
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
