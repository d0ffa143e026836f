// SPDX-License-Identifier: Apache-2.0

// Package same compares values of interfaces whose types programs choose.
package same

import "reflect"

// Value reports whether two interfaces hold equal values. A value that can't be compared, such as a
// function, equals no value, not even itself.
func Value[T any](a, b T) bool {
	x, y := any(a), any(b)
	return x == nil && y == nil || reflect.ValueOf(x).Comparable() && x == y
}
