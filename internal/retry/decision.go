// SPDX-License-Identifier: Apache-2.0

// Package retry decides whether another attempt follows a failed attempt of an RPC (gRFC A6). It
// does no I/O and has no goroutines: the caller says what happened, and the package returns what to
// do. Only the [Throttle], which all RPCs of a channel share, has a lock.
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

// State holds what one RPC has done about retries so far. The zero value allows transparent retries
// only.
type State struct {
	Policy   *serviceconfig.RetryPolicy // nil: only transparent retries
	Attempts int                        // the policy's limit on attempts, or the channel's if that is lower
	Throttle *Throttle

	made          int32        // retries that the policy granted
	sincePushback int16        // how many of these came after the last one whose delay the server chose
	refused       bool         // the one retry of a refused (unprocessed) attempt has been granted
	legs          *atomic.Bool // like refused, for all attempts of a hedged RPC together; nil: not hedged
}

// Hedge marks the RPC as hedged. Each of its attempts then needs a State of its own, from Leg.
func (s *State) Hedge() { s.legs = new(atomic.Bool) }

// Leg returns the state of an attempt of a hedged RPC that n other attempts precede. No retry
// policy applies to it.
//
// "If the RPC reaches the gRPC server library but has never been seen by the server application
// logic [...] the client library will immediately retry it once": once for the RPC, not for each of
// its attempts, as that would be more load on servers that refuse.
func (s *State) Leg(n int) State { return State{made: int32(n), legs: s.legs} }

// retriesRefused reports whether an attempt that a server refused is retried. It returns true only
// once for an RPC.
func (s *State) retriesRefused() bool {
	if s.legs != nil {
		return s.legs.CompareAndSwap(false, true)
	}
	was := s.refused
	s.refused = true
	return !was
}

// Made returns how many retries the policy has granted. The client tells the server that number.
func (s *State) Made() int { return int(s.made) }

// Verdict says what follows a failed attempt. The zero value ends the RPC.
type Verdict struct {
	Retry       bool
	Transparent bool // no server's application has seen the attempt
	Delay       time.Duration
	Exhausted   int // how many attempts there were, if the RPC ends because the policy allows no more; else 0
}

// Explain returns err. If the RPC ends because the policy allows no more attempts, the error says
// so.
func (v Verdict) Explain(err error) error {
	if v.Exhausted == 0 {
		return err
	}
	return fmt.Errorf("max retries exhausted: failed after %d attempts: %w", v.Exhausted, err)
}

// Failure says how an attempt failed.
type Failure struct {
	Status *status.Status
	// Unsent means that nothing of the attempt reached a server. Unprocessed means that a server
	// received it and did nothing.
	Unsent, Unprocessed bool
	// Final means that no other attempt may follow: the response headers came, the balancer dropped
	// the RPC, or the RPC's context ended.
	Final bool
	// Served means that the server ended the RPC with OK, but without the reply that it owed. No other attempt may follow.
	Served   bool
	Pushback Pushback

	random func() float64 // nil: rand.Float64
}

// Decide applies gRFC A6 to a failure, and counts the retry in s if it grants one.
func (s *State) Decide(f Failure) Verdict {
	switch {
	case f.Unsent:
		return Verdict{Retry: true, Transparent: true}
	case f.Unprocessed && s.retriesRefused():
		return Verdict{Retry: true, Transparent: true}
	case f.Final:
		return Verdict{}
	case s.Policy == nil || f.Served:
		if f.Pushback.Never { // it counts for the channel, whatever the RPC's policy
			s.Throttle.Failed()
		}
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
	s.sincePushback = min(s.sincePushback, math.MaxInt16-1) + 1
	return v
}

// delay returns the pause before a retry that follows n others. It grows exponentially, with a
// random deviation of up to 20 %.
func delay(p *serviceconfig.RetryPolicy, n int, random func() float64) time.Duration {
	d := math.Min(float64(p.InitialBackoff)*math.Pow(p.BackoffMultiplier, float64(n)), float64(p.MaxBackoff))
	if random == nil {
		random = rand.Float64
	}
	return time.Duration(math.Min(d*(0.8+0.4*random()), math.MaxInt64/2))
}
