// SPDX-License-Identifier: Apache-2.0

// Package retry decides whether an attempt of an RPC that failed is followed by another
// (gRFC A6). It is pure: what happened goes in, what is to be done comes out. Only the
// [Throttle], which all RPCs of a channel share, has a lock.
package retry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/status"
)

// State is how far one RPC has come with its retries. The zero value allows transparent
// retries only.
type State struct {
	Policy   *serviceconfig.RetryPolicy // nil: only transparent retries
	Attempts int                        // the policy's bound, brought under the channel's
	Throttle *Throttle

	made          int32        // retries that the policy granted
	sincePushback int16        // of these, those since the server last said when
	refused       bool         // the one retry of an attempt that a server refused was made
	legs          *atomic.Bool // refused of all attempts of a hedged RPC; nil: it is not hedged
}

// Hedge says that the RPC is hedged: its attempts have the states that Leg returns.
func (s *State) Hedge() { s.legs = new(atomic.Bool) }

// Leg is the state of an attempt of a hedged RPC that follows n others, and that no policy retries.
//
// "If the RPC reaches the gRPC server library but has never been seen by the server application
// logic [...] the client library will immediately retry it once": once for the RPC, not for each
// of its attempts, as that would be another load on servers that refuse.
func (s *State) Leg(n int) State { return State{made: int32(n), legs: s.legs} }

// retriesRefused reports whether an attempt that a server refused is retried, once.
func (s *State) retriesRefused() bool {
	if s.legs != nil {
		return s.legs.CompareAndSwap(false, true)
	}
	was := s.refused
	s.refused = true
	return !was
}

// Made is how many retries the policy has granted. The server hears of them.
func (s *State) Made() int { return int(s.made) }

// Verdict is what is to become of an attempt that failed. The zero value ends the RPC.
type Verdict struct {
	Retry       bool
	Transparent bool // the application of no server has seen the attempt
	Delay       time.Duration
	Exhausted   int // how many attempts there were, if the policy allows no more
}

// Explain adds to the error of an RPC that the policy allowed no more attempts, if so.
func (v Verdict) Explain(err error) error {
	if v.Exhausted == 0 {
		return err
	}
	return fmt.Errorf("max retries exhausted: failed after %d attempts: %w", v.Exhausted, err)
}

// Failure is what the decision depends on.
type Failure struct {
	Status *status.Status
	// Unsent: nothing of the attempt reached a server. Unprocessed: a server
	// received it and did nothing.
	Unsent, Unprocessed bool
	// Final: the attempt is the one that counts. The response headers came, or the
	// balancer dropped the RPC, or its time is over.
	Final    bool
	Pushback Pushback

	random func() float64 // nil: any
}

// Decide applies gRFC A6, and counts what it grants.
func (s *State) Decide(f Failure) Verdict {
	switch {
	case f.Unsent:
		return Verdict{Retry: true, Transparent: true}
	case f.Unprocessed && s.retriesRefused():
		return Verdict{Retry: true, Transparent: true}
	case f.Final || s.Policy == nil:
		return Verdict{}
	}
	retryable := s.Policy.RetryableStatusCodes[f.Status.Code()]
	if !retryable && !f.Pushback.Never {
		return Verdict{}
	}
	// "the token_count is decremented [...] for RPCs that fail with a retryable code or
	// for which the server forbade retries by pushback."
	if s.Throttle.Failed() || !retryable || f.Pushback.Never {
		return Verdict{}
	}
	if s.Made()+1 >= s.Attempts {
		return Verdict{Exhausted: s.Made() + 1}
	}
	s.made++
	if f.Pushback.Said {
		s.sincePushback = 0
		return Verdict{Retry: true, Delay: f.Pushback.Delay}
	}
	v := Verdict{Retry: true, Delay: delay(s.Policy, int(s.sincePushback), f.random)}
	s.sincePushback++
	return v
}

// delay is the pause before a retry, n retries having been made: exponential, give or take
// 20 %.
func delay(p *serviceconfig.RetryPolicy, n int, random func() float64) time.Duration {
	d := math.Min(float64(p.InitialBackoff)*math.Pow(p.BackoffMultiplier, float64(n)), float64(p.MaxBackoff))
	if random == nil {
		random = rand.Float64
	}
	return time.Duration(math.Min(d*(0.8+0.4*random()), math.MaxInt64/2))
}
