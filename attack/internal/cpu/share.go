// SPDX-License-Identifier: Apache-2.0

// Package cpu says how much processor time there was, and how much of it one gets.
package cpu

import (
	"runtime"
	"time"
)

// Slowness is how many times longer a computation takes now than if the machine did nothing
// else: 1 at least. Nothing else of the process may run meanwhile.
func Slowness() float64 {
	const work, most = 20 * time.Millisecond, 2 * time.Second
	began, used := time.Now(), Used()
	for {
		burn()
		took, got := time.Since(began), Used()-used
		switch {
		case got >= work:
			return max(float64(took)/float64(got), 1)
		case took > most && got > 0:
			return float64(took) / float64(got)
		case took > most: // it is not known here
			return 1
		}
	}
}

func burn() {
	n := uint64(0)
	for i := range uint64(100_000) {
		n += i * i
	}
	runtime.KeepAlive(n)
}
