// SPDX-License-Identifier: Apache-2.0

package channel

import "time"

const (
	// resolveInterval is the pause between two requests to a resolver once resolveBurst requests
	// have followed each other without a pause.
	resolveInterval = 100 * time.Millisecond
	resolveBurst    = 10
)

// resolvePace limits how often a resolver is asked to resolve again. Without it, a balancer that
// tries the addresses, finds them broken and asks again would be slowed down by the resolver alone:
// a resolver that answers at once would keep a processor and a naming service busy.
//
// It reads no clock and has no lock.
type resolvePace struct {
	// paid is the time at which all requests so far would have been made at one per
	// resolveInterval.
	paid time.Time
	// owed says that a request has been granted and not been made yet. Requests that come meanwhile
	// merge into it.
	owed bool
}

// request grants a request, and returns how long the caller waits before it makes the request. due
// is false if a granted request has not been made yet.
func (p *resolvePace) request(now time.Time) (wait time.Duration, due bool) {
	if p.owed {
		return 0, false
	}
	p.owed = true
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(resolveInterval)
	return max(p.paid.Sub(now)-resolveBurst*resolveInterval, 0), true
}

// made tells p that the granted request is being made. Any later request is a new one.
func (p *resolvePace) made() { p.owed = false }
