// SPDX-License-Identifier: Apache-2.0

//go:build race

package readyreader

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raceRead tells the race detector that the system reads the pieces of v: some lie in the program's memory.
func raceRead(v *unix.Iovec, count int) {
	for _, p := range unsafe.Slice(v, count) {
		runtime.RaceReadRange(unsafe.Pointer(p.Base), int(p.Len))
	}
}
