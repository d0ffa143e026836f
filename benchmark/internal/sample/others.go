// SPDX-License-Identifier: Apache-2.0

package sample

// Others begins to watch what other programs use of the machine. The function it returns
// says which share of all processor time that was, once the children of this process have
// ended; 0 where it is not known.
func Others() func() float64 {
	busy, all, own, ok := machineTime()
	return func() float64 {
		busy2, all2, own2, ok2 := machineTime()
		if !ok || !ok2 || all2 <= all {
			return 0
		}
		others := (busy2 - busy) - (own2 - own)
		return max(float64(others)/float64(all2-all), 0)
	}
}
