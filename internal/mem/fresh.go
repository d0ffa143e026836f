// SPDX-License-Identifier: Apache-2.0

//go:build !race && !msan && !asan

package mem

import (
	"strings"
	"unsafe"
)

// unclearedFrom is the length from which clearing an array, which its user is about to fill anyway, costs
// more than avoiding that.
const unclearedFrom = 32 << 10

// fresh returns n bytes that nobody else has. Their contents are unspecified: the user of a buffer
// overwrites what make would clear.
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
