// SPDX-License-Identifier: Apache-2.0

// Package few has a map for those who have thousands of maps with an entry or two. One of Go's own
// takes some 250 bytes as soon as it has one.
package few

// limit is how many entries a list has, which is looked through.
const limit = 8

// Map is a map that takes little while there is little in it. The zero value is empty. A Map must
// not be copied once it is in use.
type Map[K comparable, V any] struct {
	list []entry[K, V]
	many map[K]V // all of them, and list is empty; nil until there are more than limit
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

// Delete removes a key, if it is there. It may be called while All goes through the Map.
func (m *Map[K, V]) Delete(k K) {
	if m.many != nil {
		delete(m.many, k)
		return
	}
	if i := m.find(k); i >= 0 { // into another list: somebody may be in the middle of this one
		m.list = append(append(make([]entry[K, V], 0, len(m.list)-1), m.list[:i]...), m.list[i+1:]...)
	}
}

// Clear removes all.
func (m *Map[K, V]) Clear() { *m = Map[K, V]{} }

// All yields all entries, in no order that means anything. One that is removed meanwhile may still
// come.
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
