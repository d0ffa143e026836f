// SPDX-License-Identifier: Apache-2.0

//go:build race

package h2

import (
	"runtime"
	"unsafe"
)

// raceRead tells the race detector that b is read. It is called when memory is lent and when it is
// given back, so that the race detector sees a write to the memory in between.
func raceRead(b []byte) {
	if len(b) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&b[0]), len(b))
	}
}
