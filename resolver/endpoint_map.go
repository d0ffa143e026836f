// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"encoding/binary"
	"iter"
	"slices"
)

// EndpointMap maps endpoints to values. Two endpoints are the same key if they have the same Addr
// strings, each the same number of times; their order and all attributes do not count. An
// EndpointMap is not safe for concurrent use. Use NewEndpointMap to make one.
type EndpointMap[T any] struct {
	entries map[string]endpointEntry[T]
}

type endpointEntry[T any] struct {
	endpoint Endpoint
	value    T
}

// NewEndpointMap returns an empty map.
func NewEndpointMap[T any]() *EndpointMap[T] {
	return &EndpointMap[T]{entries: make(map[string]endpointEntry[T])}
}

// Get returns the value of e. ok reports whether there is one.
func (em *EndpointMap[T]) Get(e Endpoint) (value T, ok bool) {
	entry, ok := em.entries[endpointKey(e)]
	return entry.value, ok
}

// Set sets the value of e. It replaces an earlier value.
func (em *EndpointMap[T]) Set(e Endpoint, value T) {
	em.entries[endpointKey(e)] = endpointEntry[T]{e, value}
}

// Delete removes e, if it is there.
func (em *EndpointMap[T]) Delete(e Endpoint) {
	delete(em.entries, endpointKey(e))
}

// Len returns how many endpoints the map holds.
func (em *EndpointMap[T]) Len() int {
	return len(em.entries)
}

// All yields every endpoint with its value, in no particular order. The endpoint is the one that
// was passed to the last Set with that key.
func (em *EndpointMap[T]) All() iter.Seq2[Endpoint, T] {
	return func(yield func(Endpoint, T) bool) {
		for _, entry := range em.entries {
			if !yield(entry.endpoint, entry.value) {
				return
			}
		}
	}
}

// Keys returns the endpoints, in no particular order.
//
// Deprecated: use All.
func (em *EndpointMap[T]) Keys() []Endpoint {
	return keys(em.All(), len(em.entries))
}

// Values returns the values, in no particular order.
//
// Deprecated: use All.
func (em *EndpointMap[T]) Values() []T {
	return values(em.All(), len(em.entries))
}

// endpointKey returns the endpoint's addresses, sorted, as one string. The length of each address
// precedes it, so that different lists give different strings.
func endpointKey(e Endpoint) string {
	addrs := make([]string, len(e.Addresses))
	for i, a := range e.Addresses {
		addrs[i] = a.Addr
	}
	slices.Sort(addrs)
	var key []byte
	for _, addr := range addrs {
		key = binary.AppendUvarint(key, uint64(len(addr)))
		key = append(key, addr...)
	}
	return string(key)
}
