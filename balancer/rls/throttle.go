// SPDX-License-Identifier: Apache-2.0

package rls

import "time"

// A client throttles itself when its requests fail. It sends about throttleRatio times as many
// requests as the service accepts, and throttlePadding more.
const (
	throttleWindow  = 30 * time.Second
	throttleBuckets = 30
	throttleRatio   = 2.0
	throttlePadding = 8
)

// throttle counts the requests of the last 30 seconds. The zero value is ready for use.
type throttle struct {
	since   time.Time // when it was first used; with the monotonic clock, as the wall clock may be set
	buckets [throttleBuckets]bucket
}

type bucket struct {
	n                   int64 // 1 is the first bucket since since
	accepted, throttled int
}

// allow reports whether to send a request. random is a random number in [0, 1). A request that is
// not sent counts as one that the service did not accept.
func (t *throttle) allow(now time.Time, random float64) bool {
	accepted, throttled := t.sum(now)
	requests := float64(accepted + throttled)
	refuse := (requests - throttleRatio*float64(accepted)) / (requests + throttlePadding)
	if random >= refuse {
		return true
	}
	t.at(now).throttled++
	return false
}

// done counts a request that was sent.
func (t *throttle) done(now time.Time, accepted bool) {
	if accepted {
		t.at(now).accepted++
	} else {
		t.at(now).throttled++
	}
}

func (t *throttle) sum(now time.Time) (accepted, throttled int) {
	n := t.number(now)
	for _, b := range t.buckets {
		if b.n > 0 && n-b.n < throttleBuckets {
			accepted += b.accepted
			throttled += b.throttled
		}
	}
	return accepted, throttled
}

func (t *throttle) at(now time.Time) *bucket {
	n := t.number(now)
	b := &t.buckets[n%throttleBuckets]
	if b.n != n {
		*b = bucket{n: n}
	}
	return b
}

// number returns the number of now's bucket.
func (t *throttle) number(now time.Time) int64 {
	if t.since.IsZero() {
		t.since = now
	}
	return 1 + int64(max(now.Sub(t.since), 0)/(throttleWindow/throttleBuckets))
}
