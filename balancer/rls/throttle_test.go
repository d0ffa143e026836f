// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"testing"
	"time"
)

func TestThrottle(t *testing.T) {
	now := time.Unix(1000, 0)
	var th throttle
	for range 20 {
		if !th.allow(now, 0) {
			t.Fatal("refuses before anything failed")
		}
		th.done(now, true)
	}
	for range 20 { // half of them fail: that is still let through
		th.done(now, false)
	}
	if !th.allow(now, 0) {
		t.Error("refuses though half of the requests are accepted")
	}
	for range 40 {
		th.done(now, false)
	}
	// 80 requests, 20 accepted: (80 - 2*20) / (80 + 8)
	if th.allow(now, 0.45) || !th.allow(now, 0.47) {
		t.Error("refuses more or less than it should")
	}
	if !th.allow(now.Add(throttleWindow+time.Second), 0) {
		t.Error("remembers what is long past")
	}
}

// A failure counts for thirty seconds.
func TestThrottleWindow(t *testing.T) {
	now := time.Unix(1000, 0)
	var th throttle
	for range 40 {
		th.done(now, false)
	}
	th.done(now.Add(-time.Hour), false) // read before another's first use
	if th.allow(now.Add(throttleWindow-time.Nanosecond), 0) {
		t.Error("forgets too early")
	}
	if !th.allow(now.Add(throttleWindow), 0.2) { // the request that was not sent counts
		t.Error("remembers too long")
	}
}
