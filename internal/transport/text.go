// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"strconv"
	"unsafe"
)

// unsafeString returns p as a string, which is valid for as long as p does not change.
func unsafeString(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }

func itoa(n int) string { return strconv.Itoa(n) }

func quote(s string) string { return strconv.Quote(s) }
