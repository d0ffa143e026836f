// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/hedge"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/status"
)

// race is calls that are attempts of one hedged RPC, as package hedge decides. Where no server has seen one,
// another takes its place.
type race struct {
	w        *world
	policy   hedge.Policy
	race     hedge.Race
	state    retry.State // of the RPC
	throttle *retry.Throttle
	down     []int // what a handler answers that does not fail

	mu      sync.Mutex // timers and attempts are beside each other while the world settles; guards what follows, and race
	started time.Time
	legs    []*call // in the order in which they were to begin, with those that took a place
	begun   int     // without those
	open    int     // how many have not ended
	anyEnd  bool    // one has ended
	noMore  bool    // a server wants no more attempts
	refused int     // how many were made again that a server has not processed
	failed  *call   // the last that has
	over    bool    // it is decided
	winner  *call   // which one counts
}

// leg is what a call has in addition that is an attempt of a hedged RPC.
type leg struct {
	state retry.State
	said  hedge.Outcome // what the server says with a failure: NonFatal, NoMore or Later
	heard bool          // its headers have come
}

// nonFatal is the status that another attempt may do better than.
const nonFatal = codes.Unavailable

// laterBy is what a server says that wants the next attempt later.
const laterBy = 30 * time.Millisecond

// hedged makes k the first attempt of an RPC.
func (k *call) hedged() {
	c := k.w.c
	r := &race{w: k.w, down: k.down, begun: 1, open: 1}
	r.policy = hedge.Policy{Attempts: 2 + c.pick(3), Delay: of(c, 0, 5*time.Millisecond, 50*time.Millisecond, time.Second)}
	if c.rarely(3) {
		r.throttle = retry.NewThrottle(&serviceconfig.RetryThrottling{MaxTokens: 2, TokenRatio: 0.5})
	}
	r.state.Hedge()
	k.code = of(c, nonFatal, k.code)
	r.add(k, r.state.Leg(0))
}

// add makes k an attempt.
func (r *race) add(k *call, s retry.State) {
	k.race = r
	k.leg = leg{state: s, said: of(r.w.c, hedge.NonFatal, hedge.NonFatal, hedge.Later, hedge.NoMore)}
	r.legs = append(r.legs, k)
}

// begins reports whether an attempt is to be made, whose program begins.
func (r *race) begins(k *call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k == r.legs[0] {
		r.started = time.Now()
		r.race = hedge.Start(r.policy, r.started)
		r.await()
	}
	if r.over {
		r.open--
		k.over, k.senderDone, k.cancelled, k.status = true, true, true, codes.Canceled
	}
	return !r.over
}

// await has a program begin the next attempt when it is due.
func (r *race) await() {
	at, more := r.race.Next()
	switch d := time.Until(at); {
	case !more:
	case d <= 0:
		r.w.program("next attempt", r.due)
	default:
		time.AfterFunc(d, func() { r.w.program("next attempt", r.due) })
	}
}

// due begins the next attempt, if it is.
func (r *race) due() {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.w
	if w.settling {
		if r.race.Close() && !r.over {
			r.decide(r.failed)
		}
		return
	}
	_, more := r.race.Next()
	if !more {
		return
	}
	n, throttled := r.race.Begun(), r.throttle.Throttled()
	begin, lost := r.race.Due(time.Now(), throttled)
	switch {
	case lost:
		if r.open > 0 || r.over {
			w.fail("a hedged call is lost, and %d attempts are under way; decided %v", r.open, r.over)
		}
		r.decide(r.failed)
	case begin:
		r.checkBegin(n, throttled)
		r.begun, r.open = r.begun+1, r.open+1
		w.reach(hedgeFollows)
		k := r.legs[0].another(w.nextLink(n))
		if k.code == nonFatal && w.c.pick(2) == 1 {
			k.code, k.down = codes.OK, r.down
		}
		r.launch(k, r.state.Leg(n))
	}
	r.await()
}

func (r *race) launch(k *call, s retry.State) {
	r.add(k, s)
	r.w.calls = append(r.w.calls, k)
	r.w.program(fmt.Sprintf("call %d, beside %d", k.n, r.legs[0].n), k.run)
}

// checkBegin holds the beginning of an attempt against what the policy says.
func (r *race) checkBegin(n int, throttled bool) {
	switch since := time.Since(r.started); {
	case r.over, throttled, r.noMore:
		r.w.fail("a hedged call is sent again: decided %v, throttled %v, not wanted %v", r.over, throttled, r.noMore)
	case r.begun >= r.policy.Attempts:
		r.w.fail("a hedged call is sent for the %dth time, of %d", r.begun+1, r.policy.Attempts)
	case !r.anyEnd && since < time.Duration(n)*r.policy.Delay:
		r.w.fail("a hedged call is sent for the %dth time after %v, and the delay is %v", n+1, since, r.policy.Delay)
	}
}

// committed follows an attempt that has headers.
func (r *race) committed(k *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.leg.heard {
		return
	}
	k.leg.heard = true
	counts := r.race.Committed()
	if counts == r.over {
		r.w.fail("call %d has headers, and counts: %v; decided before: %v", k.n, counts, r.over)
	}
	if counts {
		r.decide(k)
	}
}

// ended follows an attempt that is over.
func (r *race) ended(k *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	if r.over || r.again(k) {
		return
	}
	o, delay := k.outcome()
	if o == hedge.NonFatal || o == hedge.Later || o == hedge.NoMore {
		r.throttle.Failed()
	}
	counts := r.race.Ended(time.Now(), o, delay)
	final := o == hedge.Success || o == hedge.Fatal
	last := r.open == 0 && (o == hedge.NoMore || r.noMore || r.race.Begun() >= r.policy.Attempts)
	if counts != (final || last) {
		r.w.fail("call %d has ended as %v, %d of its attempts are under way, %d of %d were begun, and it counts: %v",
			k.n, o, r.open, r.race.Begun(), r.policy.Attempts, counts)
	}
	at, more := r.race.Next()
	if due := time.Now().Add(delay); more && (o == hedge.NonFatal || o == hedge.Later) && !at.Equal(due) {
		r.w.fail("call %d has ended as %v, and the next attempt is due in %v", k.n, o, time.Until(at))
	}
	r.failed, r.anyEnd, r.noMore = k, true, r.noMore || o == hedge.NoMore
	if counts {
		r.decide(k)
		return
	}
	r.await()
}

// outcome is what the end of an attempt means.
func (k *call) outcome() (hedge.Outcome, time.Duration) {
	switch {
	case k.status == codes.OK:
		return hedge.Success, 0
	case k.status != nonFatal || k.cancelled || k.late():
		return hedge.Fatal, 0
	case k.leg.said == hedge.Later:
		return hedge.Later, laterBy
	}
	return k.leg.said, 0
}

// again begins an attempt in the place of one that no server has seen, and reports whether it does.
func (r *race) again(k *call) bool {
	w := r.w
	if k.status == codes.OK || k.gotHeaders || k.cancelled || k.late() || w.settling {
		return false
	}
	f := retry.Failure{Status: status.New(k.status, ""), Unsent: k.unsent, Unprocessed: k.unprocessed}
	v := k.decide(&k.leg.state, f)
	refused := f.Unprocessed && !f.Unsent
	switch {
	case v.Retry && k.handled > 0:
		w.fail("call %d was served, and another takes its place", k.n)
	case refused && v.Retry != (r.refused == 0):
		w.fail("call %d was not processed, as %d before, and another takes its place: %v", k.n, r.refused, v.Retry)
	case !refused && v.Retry != f.Unsent:
		w.fail("call %d has ended with %v, sent %v, and another takes its place: %v", k.n, k.status, !f.Unsent, v.Retry)
	}
	if refused {
		r.refused++
	}
	if !v.Retry || len(r.legs) > 12 { // connections may be gone for good, and nothing be sent
		return false
	}
	r.open++
	next := k.another(w.nextLink(len(r.legs)))
	k.transparent = true
	r.launch(next, k.leg.state)
	return true
}

// decide ends the race: k counts, and the others are given up.
func (r *race) decide(k *call) {
	r.over, r.winner = true, k
	r.w.reach(hedgeCounts)
	for _, o := range r.legs {
		if o != k && !o.over {
			r.w.reach(hedgeOutrun)
			o.cancel()
		}
	}
}

// check looks at a race when all calls have ended.
func (r *race) check() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, more := r.race.Next()
	switch {
	case !r.over && !more:
		r.w.fail("a hedged call has no attempt any more, and none of them counts")
	case r.open != 0:
		r.w.fail("%d attempts of a hedged call have not ended", r.open)
	case r.over && r.winner == nil:
		r.w.fail("a hedged call is decided, and no attempt counts")
	}
}
