// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"slices"
	"testing"
)

// Where every wait is in vain there are ever fewer of them; where one is not, all are made.
func TestHabit(t *testing.T) {
	var h habit
	in := func(n int, vain bool) (waits []int) {
		for i := range n {
			if h.isSeldom() {
				h.spare()
				continue
			}
			waits = append(waits, i)
			if vain {
				h.vain()
			} else {
				h.more()
			}
		}
		return waits
	}
	if got := in(5, false); len(got) != 5 {
		t.Errorf("a busy connection waits at %v", got)
	}
	if got, want := in(128, true), []int{0, 4, 12, 28, 60, 92, 124}; !slices.Equal(got, want) {
		t.Errorf("a connection with little input waits at %v, want %v", got, want)
	}
	in(atOnce, false) // until it tries again
	if got := in(5, false); len(got) != 5 {
		t.Errorf("one that has become busy waits at %v", got)
	}
}
