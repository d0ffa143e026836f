// SPDX-License-Identifier: Apache-2.0

// Package hedge decides when a hedged RPC is sent once more, and which of its attempts
// counts (gRFC A6, "Hedging Policy"). It has no clock, no lock and no goroutine: the caller
// says what happened, and when, one thing at a time.
package hedge

import "time"

// Policy bounds a hedged RPC.
type Policy struct {
	// Attempts is how many there may be, with the first: 2 at least.
	Attempts int
	// Delay is the time from one attempt to the next; 0 sends all at once.
	Delay time.Duration
}

// Outcome is how an attempt ended.
type Outcome int

// The five kinds of answers of A6's summary; the last two are one with different pushback.
const (
	Success  Outcome = iota // OK
	Fatal                   // a status that ends the RPC
	NonFatal                // a status that another attempt may do better than
	NoMore                  // the server pushed back: it wants no more attempts
	Later                   // the server pushed back: the next attempt only after a while
)

// Race is one RPC, from its first attempt to the one that counts.
type Race struct {
	policy Policy
	begun  int       // attempts that were begun or given up
	open   int       // attempts under way
	next   time.Time // when the next one is due
	over   bool      // decided: one attempt is the one whose result counts
}

// Start returns the race of an RPC whose first attempt begins now.
func Start(p Policy, now time.Time) Race {
	return Race{policy: p, begun: 1, open: 1, next: now.Add(p.Delay)}
}

// Next says when Due is to be called; never if ok is false.
func (r *Race) Next() (at time.Time, ok bool) {
	return r.next, !r.over && r.begun < r.policy.Attempts
}

// Begun is how many attempts were begun or given up: the number of the next one, from 0.
func (r *Race) Begun() int { return r.begun }

// Due is called once the time of Next has come. It reports whether an attempt is to begin
// now. Not so if the throttle forbids it: "The hedged request is cancelled, and if there are
// no other already-sent hedged RPCs the failure is returned", which is what lost says.
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

// Ended is called when an attempt is over. It reports whether that attempt is the one that
// counts: the caller then cancels the others, and need not call Ended for them. delay is
// the server's, for Later.
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
		// "Don't send any more hedged requests." Those on their way may still do.
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

// Committed is called when an attempt has the response's headers: the application may see
// them, so that no other attempt can count. It reports whether this one does.
func (r *Race) Committed() (counts bool) {
	counts = !r.over
	r.over = true
	return counts
}

// Close is called when no other attempt can begin, because what was sent is too much to be
// kept. It reports whether that ends the RPC: no attempt is under way.
func (r *Race) Close() (lost bool) {
	r.begun = r.policy.Attempts
	if !r.over && r.open == 0 {
		r.over = true
		return true
	}
	return false
}
