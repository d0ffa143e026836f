// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"iter"
	"slices"
)

// AddressMap maps addresses to values of any type.
//
// Deprecated: use AddressMapV2.
type AddressMap = AddressMapV2[any]

// NewAddressMap returns an empty map.
//
// Deprecated: use NewAddressMapV2.
func NewAddressMap() *AddressMap {
	return NewAddressMapV2[any]()
}

// AddressMapV2 maps addresses to values. Two addresses are the same key if their Addr, ServerName
// and Attributes are equal; the other fields do not count. An AddressMapV2 is not safe for
// concurrent use. Use NewAddressMapV2 to make one.
type AddressMapV2[T any] struct {
	// Attributes can't be part of a Go map's key, as they need Equal to be compared. So addresses
	// that differ only in Attributes share a bucket.
	buckets map[addressKey][]addressEntry[T]
	count   int
}

type addressKey struct {
	addr, serverName string
}

type addressEntry[T any] struct {
	addr  Address
	value T
}

// NewAddressMapV2 returns an empty map.
func NewAddressMapV2[T any]() *AddressMapV2[T] {
	return &AddressMapV2[T]{buckets: make(map[addressKey][]addressEntry[T])}
}

// Get returns the value of addr. ok reports whether there is one.
func (a *AddressMapV2[T]) Get(addr Address) (value T, ok bool) {
	bucket := a.buckets[keyOf(addr)]
	if i := find(bucket, addr); i >= 0 {
		return bucket[i].value, true
	}
	return value, false
}

// Set sets the value of addr. It replaces an earlier value.
func (a *AddressMapV2[T]) Set(addr Address, value T) {
	key := keyOf(addr)
	bucket := a.buckets[key]
	if i := find(bucket, addr); i >= 0 {
		bucket[i].value = value
		return
	}
	a.buckets[key] = append(bucket, addressEntry[T]{addr, value})
	a.count++
}

// Delete removes addr, if it is there.
func (a *AddressMapV2[T]) Delete(addr Address) {
	key := keyOf(addr)
	bucket := a.buckets[key]
	i := find(bucket, addr)
	if i < 0 {
		return
	}
	a.count--
	if len(bucket) == 1 {
		delete(a.buckets, key)
		return
	}
	// Make a new slice, as a loop over All may use the old one.
	a.buckets[key] = slices.Concat(bucket[:i], bucket[i+1:])
}

// Len returns how many addresses the map holds.
func (a *AddressMapV2[T]) Len() int {
	return a.count
}

// All yields every address with its value, in no particular order.
func (a *AddressMapV2[T]) All() iter.Seq2[Address, T] {
	return func(yield func(Address, T) bool) {
		for _, bucket := range a.buckets {
			for _, e := range bucket {
				if !yield(e.addr, e.value) {
					return
				}
			}
		}
	}
}

// Keys returns the addresses, in no particular order.
//
// Deprecated: use All.
func (a *AddressMapV2[T]) Keys() []Address {
	return keys(a.All(), a.count)
}

// Values returns the values, in no particular order.
//
// Deprecated: use All.
func (a *AddressMapV2[T]) Values() []T {
	return values(a.All(), a.count)
}

func keyOf(addr Address) addressKey {
	return addressKey{addr: addr.Addr, serverName: addr.ServerName}
}

// find returns the index of addr's entry in its bucket, or -1 if it has none.
func find[T any](bucket []addressEntry[T], addr Address) int {
	return slices.IndexFunc(bucket, func(e addressEntry[T]) bool {
		return e.addr.Attributes.Equal(addr.Attributes)
	})
}

func keys[K, V any](all iter.Seq2[K, V], count int) []K {
	list := make([]K, 0, count)
	for k := range all {
		list = append(list, k)
	}
	return list
}

func values[K, V any](all iter.Seq2[K, V], count int) []V {
	list := make([]V, 0, count)
	for _, v := range all {
		list = append(list, v)
	}
	return list
}
