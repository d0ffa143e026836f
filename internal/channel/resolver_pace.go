// SPDX-License-Identifier: Apache-2.0

package channel

import "time"

const (
	// resolveInterval is the pause between two requests to a resolver once resolveBurst of them
	// have followed each other without one.
	resolveInterval = 100 * time.Millisecond
	resolveBurst    = 10
)

// resolvePace limits how often a resolver is asked to resolve again. A balancer that tries what
// the resolver returns, finds it broken, and asks again, would otherwise be paced by the resolver's
// answer alone: one that answers at once keeps a processor and a naming service busy.
//
// It has no clock and no lock.
type resolvePace struct {
	// paid is when all requests until now would have been made at one per interval.
	paid time.Time
	// owed says that a request has been granted and has not been made yet. Those that come
	// meanwhile are the same request.
	owed bool
}

// request grants a request, and says how long to wait before it is made. It is not due if
// another one is about to be made.
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

// made says that the request is being made. One that comes now is another one.
func (p *resolvePace) made() { p.owed = false }
