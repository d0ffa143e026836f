// SPDX-License-Identifier: Apache-2.0

package hpack

// recent has the fields that an encoder last found whole in a table. The encoder looks there before it
// searches the tables. Most blocks of a connection have few other fields, in strings at the same
// addresses as before, so that comparing them costs next to nothing.
//
// recent keeps the strings until the first field is added after the table has changed. No string is
// larger than a table.
type recent struct {
	gen  uint64 // of the table
	sets [recentSets][2]known
}

// recentSets is a power of two. With two fields in each set there is room for the fields of gRPC's
// blocks and some metadata, and few fields push others out.
const recentSets = 16

// known is a field and its index in the address space of both tables; 0 means none.
type known struct {
	name, value string
	index       uint32
}

// set returns the set in which the field may be.
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

// find returns the index of the field in a table of generation gen, or 0.
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

// add stores a field, in place of the older one of its set.
func (r *recent) add(name, value string, index uint32, gen uint64) {
	if r.gen != gen {
		*r = recent{gen: gen}
	}
	s := r.set(name, value)
	s[1] = s[0]
	s[0] = known{name, value, index}
}
