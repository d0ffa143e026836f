// SPDX-License-Identifier: Apache-2.0

//go:build !race && !msan && !asan

package mem

import (
	"strings"
	"unsafe"
)

// unclearedFrom is from how many bytes on clearing an array that somebody is about to fill costs
// more than it takes to avoid.
const unclearedFrom = 32 << 10

// fresh returns n bytes that nobody else has. Their contents are unspecified: what make clears,
// whoever takes a buffer overwrites.
func fresh(n int) []byte {
	if n < unclearedFrom {
		return make([]byte, n)
	}
	// A Builder's memory is the only one that the runtime does not clear. The Builder, and the
	// string that shows where its memory lies, are gone when this returns.
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}
