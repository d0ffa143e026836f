// SPDX-License-Identifier: Apache-2.0

package readyreader

// counters are told how many bytes were read, or written.
type counters []func(n int)

func (cs counters) add(n int) {
	if n > 0 {
		for _, count := range cs {
			count(n)
		}
	}
}
