// SPDX-License-Identifier: Apache-2.0

package hpack

// Kinds sorts field names into small numbers, once for a name that stands in a
// table rather than at each use. It is immutable, and any number of decoders may
// share one.
type Kinds struct {
	of     func(name []byte) uint8
	static [staticLen + 1]uint8
}

// NewKinds wraps of, which must depend on the name alone and must not keep it.
func NewKinds(of func(name []byte) uint8) *Kinds {
	k := &Kinds{of: of}
	for i := 1; i <= staticLen; i++ {
		k.static[i] = of([]byte(staticFields[i][0]))
	}
	return k
}

var staticKinds = NewKinds(func(name []byte) uint8 {
	if len(name) > longestStaticName {
		return 0 // also because a longer string(name) would be allocated
	}
	return staticName(string(name))
})

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
