// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"slices"
	"testing"
	"time"
)

// TestAbandonIsConstant: calls that wait for a place are given up in any order, at a cost that does
// not depend on how many wait: a server that allows no stream makes them wait, and they end together.
func TestAbandonIsConstant(t *testing.T) {
	const n = 100_000
	start := time.Now()
	for _, newestFirst := range []bool{false, true} {
		table := newStreamTable(Client)
		table.setMaxLocal(0)
		waiters := make([]*slotWaiter, n)
		for i := range waiters {
			waiters[i] = table.wait()
		}
		if newestFirst {
			slices.Reverse(waiters)
		}
		for _, w := range waiters {
			table.abandon(w)
		}
		if table.waiting != nil || table.granted != 0 {
			t.Errorf("some still wait; %d places are granted", table.granted)
		}
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("%d waits took %v", 2*n, took)
	}
}

// TestAbandonKeepsOrder: who waits longest is woken first, whoever leaves.
func TestAbandonKeepsOrder(t *testing.T) {
	for leaver := range 5 {
		table := newStreamTable(Client)
		table.setMaxLocal(0)
		var waiters []*slotWaiter
		for range 5 {
			waiters = append(waiters, table.wait())
		}
		table.abandon(waiters[leaver])
		waiters = slices.Delete(waiters, leaver, leaver+1)
		waiters = append(waiters, table.wait())
		for i := range waiters {
			table.wakeNext()
			for k, w := range waiters {
				if woken := len(w.ready) == 1; woken != (k <= i) {
					t.Errorf("%d left: waiter %d woken %t after %d", leaver, k, woken, i+1)
				}
			}
		}
		if table.waiting != nil {
			t.Errorf("%d left: some still wait", leaver)
		}
	}
}
