// SPDX-License-Identifier: Apache-2.0

// Package clock is the process's monotonic clock as a plain number: smaller than a time.Time, and good for
// atomics. 0 stands for no time at all.
package clock

import "time"

var begin = time.Now().Add(-time.Second) // so that 0 is never a time

// Now returns the nanoseconds that the clock shows. In a bubble of testing/synctest it shows the bubble's
// time.
func Now() int64 { return int64(time.Since(begin)) }

// InBubble reports whether the caller runs in a bubble of testing/synctest. What a whole process shares,
// such as goroutines and channels, must not be made or used there. Times in a bubble have no monotonic
// clock reading; elsewhere time.Now always gives one, whatever the date is set to.
func InBubble() bool {
	now := time.Now()
	return now == now.Round(0)
}

// At returns what the clock shows at t, and 0 for the zero time.
func At(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return int64(t.Sub(begin))
}

// Time returns the moment at which the clock shows n, and the zero time for 0.
func Time(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return begin.Add(time.Duration(n))
}
