// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
)

// TestWithdrawIsConstant: RPCs that wait for a place are given up in any order, at a cost that does
// not depend on how many wait.
func TestWithdrawIsConstant(t *testing.T) {
	const n = 200_000
	start := testutils.CPUTime()
	for _, newestFirst := range []bool{false, true} {
		var s scale
		places := make([]*place, n)
		for i := range places {
			places[i] = s.enqueue()
		}
		if newestFirst {
			slices.Reverse(places)
		}
		for _, p := range places {
			if !s.withdraw(p) || s.withdraw(p) {
				t.Fatal("a wait is not taken back once")
			}
		}
		if s.queue.Len() > 0 {
			t.Error("some still wait")
		}
	}
	if took := testutils.CPUTime() - start; took > 8*time.Second {
		t.Errorf("%d waits took %v", 2*n, took)
	}
}

// TestPlacesInOrder: who waits longest is given a place first, whoever leaves.
func TestPlacesInOrder(t *testing.T) {
	var s scale
	places := []*place{s.enqueue(), s.enqueue(), s.enqueue(), s.enqueue()}
	l := new(Link)
	s.withdraw(places[1])
	for _, i := range []int{0, 2, 3} {
		s.giveFirst(l)
		if s.withdraw(places[i]) {
			t.Errorf("place %d waits", i)
		} else if <-places[i].given != l {
			t.Errorf("place %d was given something else", i)
		}
	}
	if s.queue.Len() > 0 {
		t.Error("some still wait")
	}
}
