// SPDX-License-Identifier: Apache-2.0

// Package hedge decides when a hedged RPC sends another attempt, and which attempt's result is the
// RPC's (gRFC A6, "Hedging Policy"). It has no clock, no lock and no goroutine: the caller reports
// each event and its time, one call after the other.
package hedge

import "time"

// Policy has the parameters of a hedged RPC.
type Policy struct {
	// Attempts is the limit on attempts, the first one included. It is 2 or more.
	Attempts int
	// Delay is the time from one attempt to the next; 0 sends all attempts at once.
	Delay time.Duration
}

// Outcome is how an attempt ended.
type Outcome int

// These are the five kinds of responses in A6's summary.
const (
	Success  Outcome = iota // OK
	Fatal                   // a status that ends the RPC
	NonFatal                // a status that does not end the RPC, as another attempt may succeed
	NoMore                  // the server pushed back: it wants no more attempts
	Later                   // the server pushed back: it wants the next attempt after a delay that it chose
)

// Race is the state of one hedged RPC until one attempt is chosen whose result is the RPC's.
type Race struct {
	policy Policy
	begun  int       // attempts that were begun, or skipped because the throttle forbade them
	open   int       // attempts under way
	next   time.Time // when the next attempt is due
	over   bool      // one attempt was chosen whose result is the RPC's, or the RPC was lost
}

// Start returns the race of an RPC whose first attempt begins now.
func Start(p Policy, now time.Time) Race {
	return Race{policy: p, begun: 1, open: 1, next: now.Add(p.Delay)}
}

// Next returns when the caller calls Due next. If ok is false, the caller does not call it.
func (r *Race) Next() (at time.Time, ok bool) {
	return r.next, !r.over && r.begun < r.policy.Attempts
}

// Begun returns how many attempts were begun or skipped. That is the next attempt's number, counted
// from 0.
func (r *Race) Begun() int { return r.begun }

// Due reports whether the caller begins an attempt now. The caller calls it once the time that Next
// returned has come. begin is false if the throttle forbids an attempt: "The hedged request is
// cancelled, and if there are no other already-sent hedged RPCs the failure is returned", and lost
// reports that case.
func (r *Race) Due(now time.Time, throttled bool) (begin, lost bool) {
	if at, ok := r.Next(); !ok || now.Before(at) {
		return false, false
	}
	r.begun++
	r.next = now.Add(r.policy.Delay)
	if !throttled {
		r.open++
		return true, false
	}
	r.over = r.open == 0
	return false, r.over
}

// Ended records that an attempt is over. It reports whether that attempt's result is the RPC's: the
// caller then cancels the other attempts, and need not call Ended for them. If o is Later, delay is
// the one that the server chose.
func (r *Race) Ended(now time.Time, o Outcome, delay time.Duration) (counts bool) {
	if r.over {
		return false
	}
	r.open--
	switch o {
	case Success, Fatal:
		r.over = true
		return true
	case NoMore:
		// "Don't send any more hedged requests." Attempts that are under way may still succeed.
		r.begun = r.policy.Attempts
	case NonFatal:
		// "Immediately send next scheduled hedged request, if any. Subsequent hedged
		// requests will resume at hedgingDelay."
		r.next = now
	case Later:
		// "Send next hedged request in n ms. Subsequent hedged requests will resume at
		// n + hedgingDelay."
		r.next = now.Add(delay)
	}
	_, more := r.Next()
	r.over = r.open == 0 && !more
	return r.over
}

// Committed records that an attempt has received the response headers. The application may see
// them, so no other attempt's result can be the RPC's any more. Committed reports whether this
// attempt's result is: it is not if the race was over before.
func (r *Race) Committed() (counts bool) {
	counts = !r.over
	r.over = true
	return counts
}

// Close records that no other attempt can begin, because the messages that were sent are too large
// to keep. It reports whether that ends the RPC, as no attempt is under way.
func (r *Race) Close() (lost bool) {
	r.begun = r.policy.Attempts
	if !r.over && r.open == 0 {
		r.over = true
		return true
	}
	return false
}
