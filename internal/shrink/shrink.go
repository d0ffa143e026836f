// SPDX-License-Identifier: Apache-2.0

// Package shrink frees memory that slices and maps have grown to and don't use any more.
package shrink

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

// Emptied reports whether a map that has n entries, and has had as many as most, is better dropped: a map keeps the
// memory of its most entries for ever.
func Emptied(n, most int) bool { return n == 0 && most > few }
