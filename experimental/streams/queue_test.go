// SPDX-License-Identifier: Apache-2.0

package streams

import "testing"

// TestQueueDropsOldest: to drop the oldest message for each that comes costs no walk over all that
// wait, and takes no more than a few places for each of them.
func TestQueueDropsOldest(t *testing.T) {
	const n, more = 1000, 100_000
	var q queue
	for i := range n {
		q.push(i)
	}
	moved := 0
	for i := range more {
		if got := q.pop(); got != i {
			t.Fatalf("%v is the oldest, want %d", got, i)
		}
		before := q.head
		q.push(n + i)
		if q.head < before {
			moved += q.len()
		}
	}
	if moved > 4*more {
		t.Errorf("%d messages were moved for %d that came", moved, more)
	}
	if q.len() != n || cap(q.list) > 4*n {
		t.Errorf("%d messages in %d places, want %d", q.len(), cap(q.list), n)
	}
	for i := range n {
		if got := q.pop(); got != more+i {
			t.Fatalf("%v is the oldest at last, want %d", got, more+i)
		}
	}
}
