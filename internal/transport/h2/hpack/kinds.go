// SPDX-License-Identifier: Apache-2.0

package hpack

// Kinds maps field names to small numbers, and finds flaws in values. For fields in a table that
// happens once, and not at each use. It is immutable, and any number of decoders may share one.
type Kinds struct {
	of     func(name []byte) uint8
	flawed func(value []byte) bool // nil: no value is flawed
	static [staticLen + 1]uint8
}

// NewKinds returns Kinds that use of and flawed. The result of of must depend on the name alone, and
// that of flawed on the value alone. flawed may be nil. Neither may keep its argument.
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
		return 0 // a longer string(name) would also be allocated
	}
	return staticName(string(name))
}, nil)

const longestStaticName = len("access-control-allow-origin")

// staticEntries are the fields of the static table, in the form of the dynamic table. Their octets are
// in staticArena.
var staticEntries, staticArena = layStaticTable()

func layStaticTable() (entries [staticLen + 1]entry, arena []byte) {
	for i, f := range staticFields {
		entries[i] = entry{off: uint32(len(arena)), nameLen: uint32(len(f[0])), valueLen: uint32(len(f[1]))}
		arena = append(append(arena, f[0]...), f[1]...)
	}
	return entries, arena
}
