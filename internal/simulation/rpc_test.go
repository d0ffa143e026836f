// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/status"
)

// rpc is calls of which each but the first is another attempt of the one before, as package retry decides. Its
// attempts go to the connections in turn.
type rpc struct {
	state    retry.State
	attempts []*call
	down     []int // what a handler answers that does not fail
	waits    bool  // another attempt comes, when the pause before it is over
	over     bool
	refused  bool // an attempt that a server has not processed was made again
}

// retryPolicy allows three attempts.
var retryPolicy = &serviceconfig.RetryPolicy{
	MaxAttempts: 3, InitialBackoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond, BackoffMultiplier: 2,
	RetryableStatusCodes: map[codes.Code]bool{codes.Unavailable: true},
}

// retried makes k the first attempt of an RPC.
func (k *call) retried() {
	c := k.w.c
	r := &rpc{down: k.down}
	if c.pick(3) > 0 {
		r.state.Policy, r.state.Attempts = retryPolicy, retryPolicy.MaxAttempts
		k.code = of(c, codes.Unavailable, codes.Unavailable, k.code)
	}
	if k.code == codes.Unavailable && c.pick(3) > 0 {
		k.down = nil // else the attempt is the one that counts
	}
	r.add(k)
}

func (r *rpc) add(k *call) {
	k.rpc = r
	r.attempts = append(r.attempts, k)
}

// judge follows the end of an attempt.
func (r *rpc) judge(k *call) {
	w := k.w
	f := retry.Failure{
		Status: status.New(k.status, ""), Unsent: k.unsent, Unprocessed: k.unprocessed,
		Final: k.gotHeaders || k.cancelled || k.late(),
	}
	if k.status == codes.OK || k.cancelled || k.late() || w.settling {
		r.over = true
		return
	}
	v := k.decide(&r.state, f)
	r.check(k, f, v)
	if !v.Retry || len(r.attempts) > 8 { // connections may be gone for good, and nothing be sent
		r.over = true
		return
	}
	r.waits = true
	w.reach(attemptFollows)
	k.transparent = v.Transparent
	if v.Delay == 0 {
		r.again(k)
		return
	}
	time.AfterFunc(v.Delay, func() { r.again(k) })
}

// decide asks whether another attempt follows one that has failed.
func (k *call) decide(s *retry.State, f retry.Failure) retry.Verdict {
	if k.verdict != nil {
		return k.verdict(s)
	}
	return s.Decide(f)
}

// check holds a verdict against what the policy says.
func (r *rpc) check(k *call, f retry.Failure, v retry.Verdict) {
	seen := 0
	for _, a := range r.attempts {
		if a.handled > 0 {
			seen++
		}
	}
	if f.Unprocessed && !f.Unsent && !r.refused {
		if r.refused = true; !v.Transparent {
			k.w.fail("call %d was not processed, and is not made again", k.n)
		}
	}
	switch {
	case f.Unsent && !v.Transparent:
		k.w.fail("call %d was not sent, and is not made again", k.n)
	case v.Transparent && k.handled > 0:
		k.w.fail("call %d was served, and is made again as if it had not been", k.n)
	case v.Retry && !v.Transparent && (f.Final || r.state.Policy == nil || k.status != codes.Unavailable):
		k.w.fail("call %d has ended with %v, final %v, and is made again", k.n, k.status, f.Final)
	case v.Retry && !v.Transparent && seen >= retryPolicy.MaxAttempts:
		k.w.fail("call %d was served %d times, and is made again", k.n, seen)
	case !v.Retry && r.state.Policy != nil && !f.Final && k.status == codes.Unavailable && seen < retryPolicy.MaxAttempts && r.state.Made() < retryPolicy.MaxAttempts-1:
		k.w.fail("call %d was served %d times, ended with %v, and is not made again", k.n, seen, k.status)
	}
}

// again begins the next attempt.
func (r *rpc) again(k *call) {
	w := k.w
	w.mu.Lock()
	done := w.free || w.settling
	w.mu.Unlock()
	if r.waits = false; done {
		r.over = true
		return
	}
	n := k.another(w.nextLink(len(r.attempts)))
	if n.code == codes.Unavailable && w.c.pick(4) == 0 {
		n.code, n.down = codes.OK, r.down
	}
	r.add(n)
	w.calls = append(w.calls, n)
	w.program(fmt.Sprintf("call %d, as %d was", n.n, k.n), n.run)
}

// another is a call that is to do the same.
func (k *call) another(l *link) *call {
	return &call{
		w: k.w, n: len(k.w.calls), link: l, waits: k.waits,
		unary: k.unary, up: k.up, down: k.down, deadline: k.deadline, watched: k.watched, stopsAfter: k.stopsAfter,
		readsFirst: k.readsFirst, readsAll: k.readsAll, headerFirst: k.headerFirst, code: k.code, handed: k.handed, lazyClose: k.lazyClose,
	}
}

// checkAttempts looks at RPCs when all calls have ended.
func (w *world) checkAttempts() {
	for _, k := range w.calls {
		if k.race != nil && k.race.legs[0] == k {
			k.race.check()
		}
		if k.transparent && k.handled > 0 {
			w.fail("call %d was made again as if nobody had seen it, and was served", k.n)
		}
		if k.rpc != nil && !k.rpc.over && !k.rpc.waits && k.rpc.attempts[len(k.rpc.attempts)-1] == k {
			w.fail("call %d has ended, and nobody has decided whether another follows", k.n)
		}
	}
}
