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
	buckets [throttleBuckets]bucket
}

type bucket struct {
	begin               time.Time
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
	for _, b := range t.buckets {
		if now.Sub(b.begin) < throttleWindow {
			accepted += b.accepted
			throttled += b.throttled
		}
	}
	return accepted, throttled
}

func (t *throttle) at(now time.Time) *bucket {
	const width = throttleWindow / throttleBuckets
	begin := now.Truncate(width)
	b := &t.buckets[begin.UnixNano()/int64(width)%throttleBuckets]
	if !b.begin.Equal(begin) {
		*b = bucket{begin: begin}
	}
	return b
}
