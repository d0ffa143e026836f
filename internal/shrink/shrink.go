// SPDX-License-Identifier: Apache-2.0

// Package shrink frees memory that slices and maps have grown to and don't use any more.
package shrink

import "maps"

// few is the capacity up to which a copy is not worth it.
const few = 64

// Slice returns s, or a copy of s with half the capacity if s uses less than a quarter of its
// capacity. If the caller calls Slice after each removal of an element, the cost of all copies is
// in proportion to the number of removals.
func Slice[S ~[]E, E any](s S) S {
	if n := cap(s); n > few && len(s) < n/4 {
		return append(make(S, 0, n/2), s...)
	}
	return s
}

// Delete deletes the entry of k from m, and returns m, or a copy of m if it has had more than four times as many entries as
// are left: a map keeps the memory of its most entries for ever. most is 0 at first, and Delete's own. If nothing else
// deletes entries, the cost of all copies is in proportion to the number of deletions.
func Delete[M ~map[K]V, K comparable, V any](m M, k K, most *int) M {
	*most = max(*most, len(m))
	delete(m, k)
	if n := len(m); *most > few && n < *most/4 {
		smaller := make(M, n)
		maps.Copy(smaller, m)
		m, *most = smaller, n
	}
	return m
}
