// SPDX-License-Identifier: Apache-2.0

// Package few has a map for code that has thousands of maps with an entry or two each. A map of Go
// itself takes some 250 bytes as soon as it has one entry.
package few

// limit is how many entries a Map keeps in a list, which it searches entry by entry.
const limit = 8

// Map is a map that takes little memory while it has few entries. The zero value is empty. A Map must
// not be copied once it is in use.
type Map[K comparable, V any] struct {
	list []entry[K, V]
	many map[K]V // if not nil, it has all entries and list is empty; nil until there are more than limit
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of entries.
func (m *Map[K, V]) Len() int { return len(m.list) + len(m.many) }

// Get returns the value of a key.
func (m *Map[K, V]) Get(k K) (v V, ok bool) {
	if m.many != nil {
		v, ok = m.many[k]
		return v, ok
	}
	if i := m.find(k); i >= 0 {
		return m.list[i].value, true
	}
	return v, false
}

// Set sets the value of a key.
func (m *Map[K, V]) Set(k K, v V) {
	if m.many != nil {
		m.many[k] = v
		return
	}
	if i := m.find(k); i >= 0 {
		m.list[i].value = v
		return
	}
	if len(m.list) < limit {
		m.list = append(m.list, entry[K, V]{k, v})
		return
	}
	m.many = make(map[K]V, 2*limit)
	for _, e := range m.list {
		m.many[e.key] = e.value
	}
	m.many[k] = v
	m.list = nil
}

// Delete removes a key, if it is in the Map. It may be called while All iterates over the Map.
func (m *Map[K, V]) Delete(k K) {
	if m.many != nil {
		delete(m.many, k)
		return
	}
	if i := m.find(k); i >= 0 { // make a new list: All may be in the middle of this one
		m.list = append(append(make([]entry[K, V], 0, len(m.list)-1), m.list[:i]...), m.list[i+1:]...)
	}
}

// Clear removes all entries.
func (m *Map[K, V]) Clear() { *m = Map[K, V]{} }

// All yields all entries, in no particular order. It may still yield an entry that is removed meanwhile.
func (m *Map[K, V]) All(yield func(K, V) bool) {
	for _, e := range m.list {
		if !yield(e.key, e.value) {
			return
		}
	}
	for k, v := range m.many {
		if !yield(k, v) {
			return
		}
	}
}

func (m *Map[K, V]) find(k K) int {
	for i := range m.list {
		if m.list[i].key == k {
			return i
		}
	}
	return -1
}
