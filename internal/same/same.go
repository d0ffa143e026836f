// SPDX-License-Identifier: Apache-2.0

// Package same compares what interfaces hold, which programs fill in as they like.
package same

import "reflect"

// Value compares what two interfaces hold, if that can be compared; what can't be, such as a
// function, is the same as nothing.
func Value[T any](a, b T) bool {
	x, y := any(a), any(b)
	return x == nil && y == nil || reflect.ValueOf(x).Comparable() && x == y
}
