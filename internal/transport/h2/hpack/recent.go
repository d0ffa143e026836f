// SPDX-License-Identifier: Apache-2.0

package hpack

// recent is where an encoder looks before it searches the tables: the fields that it last
// found whole in one. Most blocks of a connection have little else, in strings that are the
// same to the address, so that comparing them costs next to nothing.
//
// It keeps the strings, of which none is larger than a table, until the next one is added after
// the table has changed.
type recent struct {
	gen  uint64 // of the table
	sets [recentSets][2]known
}

// recentSets is a power of two. Two places each are room for the fields of gRPC's
// blocks and some metadata, with few of them in each other's way.
const recentSets = 16

// known is a field and its index, in the one address space of both tables; 0 for none.
type known struct {
	name, value string
	index       uint32
}

// set is the places where the field may be.
func (r *recent) set(name, value string) *[2]known {
	h := 5*len(name) + 11*len(value)
	if len(name) > 0 {
		h += int(name[len(name)-1])
	}
	if len(value) > 0 {
		h += 3 * int(value[len(value)-1])
	}
	return &r.sets[uint(h)%recentSets]
}

// find gives the index of the field in a table of generation gen, or 0.
func (r *recent) find(name, value string, gen uint64) uint32 {
	if r.gen != gen {
		return 0
	}
	s := r.set(name, value)
	for i := range s {
		if k := &s[i]; k.value == value && k.name == name {
			return k.index
		}
	}
	return 0
}

// add remembers a field. Of three in one set the oldest is forgotten.
func (r *recent) add(name, value string, index uint32, gen uint64) {
	if r.gen != gen {
		*r = recent{gen: gen}
	}
	s := r.set(name, value)
	s[1] = s[0]
	s[0] = known{name, value, index}
}
