// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"strconv"
	"unsafe"
)

// unsafeString is p as a string, for as long as p does not change.
func unsafeString(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

func itoa(n int) string { return strconv.Itoa(n) }

func quote(s string) string { return strconv.Quote(s) }
