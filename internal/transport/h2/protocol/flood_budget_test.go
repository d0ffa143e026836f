// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"
	"time"
)

// TestNonsenseWalks: frames that have us walk over all streams come to a bounded number of steps, and
// a peer that sets its window some ten times, as one that measures the path does, passes.
func TestNonsenseWalks(t *testing.T) {
	const now = 100 * time.Second
	for _, streams := range []int{0, 10, 1000, 4000, 100_000} {
		var n floodBudget
		for range streams {
			n.useful()
		}
		frames, steps := 0, 0
		for n.useless(now) == nil {
			n.walked(streams, now)
			frames++
			steps += streams
		}
		if most := (FloodLimit+floodCredit+1)*streamsPerFrame + streams; steps > most {
			t.Errorf("%d streams: %d steps, at most %d", streams, steps, most)
		}
		if frames < 12 {
			t.Errorf("%d streams: ended after %d frames", streams, frames)
		}
	}
}

// TestNonsenseIsForgotten: what is old does not count, whatever it was.
func TestNonsenseIsForgotten(t *testing.T) {
	var n floodBudget
	now := time.Minute
	for range 100 {
		n.walked(streamsPerFrame*FloodLimit, now)
		now += floodWindow + time.Second
		if err := n.useless(now); err != nil {
			t.Fatal(err)
		}
		now += time.Second
	}
}
