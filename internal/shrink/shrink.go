// SPDX-License-Identifier: Apache-2.0

// Package shrink gives back what lists have grown to and don't use any more.
package shrink

// few is the number of places that are not worth a copy.
const few = 64

// Slice returns s, or a copy of it with half the places if it fills less than a quarter of
// those that it has. Whoever calls it after each element that goes pays for the copies in
// proportion to these.
func Slice[S ~[]E, E any](s S) S {
	if n := cap(s); n > few && len(s) < n/4 {
		return append(make(S, 0, n/2), s...)
	}
	return s
}
