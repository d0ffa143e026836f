// SPDX-License-Identifier: Apache-2.0

// Package retry decides whether an attempt of an RPC that failed is followed by another
// (gRFC A6). It is pure: what happened goes in, what is to be done comes out. Only the
// [Throttle], which all RPCs of a channel share, has a lock.
package retry

import (
	"fmt"
	"math"
	"math/rand/v2"
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

	made          int32 // retries that the policy granted
	sincePushback int32 // of these, those since the server last said when
	refused       bool  // the one retry of an attempt that a server refused was made
}

// Nth is the state of an attempt that follows n others, and that no policy retries.
func Nth(n int) State { return State{made: int32(n)} }

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
	case f.Unprocessed && !s.refused:
		s.refused = true
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
