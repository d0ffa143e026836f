// SPDX-License-Identifier: Apache-2.0

package hpack

// Kinds sorts field names into small numbers, and finds flaws in values, once for what
// stands in a table rather than at each use. It is immutable, and any number of decoders
// may share one.
type Kinds struct {
	of     func(name []byte) uint8
	flawed func(value []byte) bool // nil: none is
	static [staticLen + 1]uint8
}

// NewKinds wraps of, which must depend on the name alone, and flawed, which must depend on
// the value alone and may be nil. They must not keep what they are given.
func NewKinds(of func(name []byte) uint8, flawed func(value []byte) bool) *Kinds {
	k := &Kinds{of: of, flawed: flawed}
	for i := 1; i <= staticLen; i++ {
		k.static[i] = of([]byte(staticFields[i][0]))
	}
	return k
}

func (k *Kinds) isFlawed(value []byte) bool { return k.flawed != nil && k.flawed(value) }

var staticKinds = NewKinds(func(name []byte) uint8 {
	if len(name) > longestStaticName {
		return 0 // also because a longer string(name) would be allocated
	}
	return staticName(string(name))
}, nil)

const longestStaticName = len("access-control-allow-origin")

// staticEntries are the fields of the static table in the dynamic table's form, over
// staticArena.
var staticEntries, staticArena = layStaticTable()

func layStaticTable() (entries [staticLen + 1]entry, arena []byte) {
	for i, f := range staticFields {
		entries[i] = entry{off: uint32(len(arena)), nameLen: uint32(len(f[0])), valueLen: uint32(len(f[1]))}
		arena = append(append(arena, f[0]...), f[1]...)
	}
	return entries, arena
}
