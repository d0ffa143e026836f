// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/status"
)

// retryThrottle is the token bucket of gRFC A6, one a channel. A nil one is always full.
type retryThrottle struct {
	// Immutable.
	limit, threshold, ratio float64

	mu     sync.Mutex
	tokens float64
}

func newRetryThrottle(c *serviceconfig.RetryThrottling) *retryThrottle {
	if c == nil {
		return nil
	}
	return &retryThrottle{limit: c.MaxTokens, threshold: c.MaxTokens / 2, ratio: c.TokenRatio, tokens: c.MaxTokens}
}

// failed takes a token for a failure, and says whether retries are forbidden now.
func (t *retryThrottle) failed() (throttled bool) {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens = max(t.tokens-1, 0)
	return t.tokens <= t.threshold
}

// succeeded gives a part of a token back.
func (t *retryThrottle) succeeded() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens = min(t.tokens+t.ratio, t.limit)
}

// pushback is what a server said about retries in its trailers (gRFC A6).
type pushback struct {
	said  bool
	never bool // it wants none: a negative number, or no number
	delay time.Duration
}

func parsePushback(values []string) pushback {
	if len(values) == 0 {
		return pushback{}
	}
	ms, err := strconv.ParseInt(values[0], 10, 64)
	if len(values) > 1 || err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return pushback{said: true, never: true}
	}
	return pushback{said: true, delay: time.Duration(ms) * time.Millisecond}
}

// retryState is how far an RPC has come with its retries.
type retryState struct {
	policy   *serviceconfig.RetryPolicy // nil: only transparent retries
	attempts int                        // the policy's bound, brought under the channel's
	throttle *retryThrottle

	made          int  // retries that the policy granted
	sincePushback int  // of these, those since the server last said when
	refused       bool // the one retry of an attempt that a server refused was made
}

// verdict is what is to become of an attempt that failed.
type verdict struct {
	retry       bool
	transparent bool // the application of no server has seen the attempt
	delay       time.Duration
	exhausted   int // how many attempts there were, if the policy allows no more
}

// explain says of the error of an RPC that it was tried as often as may be.
func (v verdict) explain(err error) error {
	if v.exhausted == 0 {
		return err
	}
	return fmt.Errorf("max retries exhausted: failed after %d attempts: %w", v.exhausted, err)
}

// failure is what the decision depends on.
type failure struct {
	status *status.Status
	// unsent: nothing of the attempt reached a server. unprocessed: a server
	// received it and did nothing.
	unsent, unprocessed bool
	// final: the attempt is the one that counts. The response headers came, or the
	// balancer dropped the RPC, or its time is over.
	final    bool
	pushback pushback
	random   func() float64
}

// decide applies gRFC A6, and counts what it grants.
func (s *retryState) decide(f failure) verdict {
	switch {
	case f.unsent:
		return verdict{retry: true, transparent: true}
	case f.unprocessed && !s.refused:
		s.refused = true
		return verdict{retry: true, transparent: true}
	case f.final || s.policy == nil:
		return verdict{}
	}
	retryable := s.policy.RetryableStatusCodes[f.status.Code()]
	if !retryable && !f.pushback.never {
		return verdict{}
	}
	// "the token_count is decremented [...] for RPCs that fail with a retryable code or
	// for which the server forbade retries by pushback."
	if s.throttle.failed() || !retryable || f.pushback.never {
		return verdict{}
	}
	if s.made+1 >= s.attempts {
		return verdict{exhausted: s.made + 1}
	}
	s.made++
	if f.pushback.said {
		s.sincePushback = 0
		return verdict{retry: true, delay: f.pushback.delay}
	}
	v := verdict{retry: true, delay: retryDelay(s.policy, s.sincePushback, f.random)}
	s.sincePushback++
	return v
}

// retryDelay is the pause before a retry, n retries having been made: exponential, give or
// take 20 %.
func retryDelay(p *serviceconfig.RetryPolicy, n int, random func() float64) time.Duration {
	d := math.Min(float64(p.InitialBackoff)*math.Pow(p.BackoffMultiplier, float64(n)), float64(p.MaxBackoff))
	if random == nil {
		random = rand.Float64
	}
	return time.Duration(math.Min(d*(0.8+0.4*random()), math.MaxInt64/2))
}

// judge decides whether there is another attempt after a, which failed with err.
func (r *clientCall) judge(a *attempt, err error) verdict {
	if r.fixed == nil {
		r.again = r.retry.decide(r.failure(a, err))
		return r.again
	}
	return verdict{}
}

// failure gathers what the decision depends on.
func (r *clientCall) failure(a *attempt, err error) failure {
	f := failure{status: status.Convert(err)}
	switch {
	case a.unsent:
		f.unsent = true
	case a.stream == nil:
		f.final = a.dropped || r.ctx.Err() != nil // else the policy goes by the code alone
	default:
		f.unprocessed = a.stream.Unprocessed()
		f.final = a.stream.GotHeaders()
		if r.retry.policy != nil && !f.unprocessed && !f.final {
			f.pushback = parsePushback(a.stream.Trailer()[grpcwire.HeaderRetryPushback])
		}
	}
	return f
}

// pause waits before another attempt. An error is a status: the RPC ended meanwhile.
func (r *clientCall) pause(d time.Duration) error {
	if err := r.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		turn := r.cc.picks.turn()
		if turn.closed {
			return ErrClientConnClosing
		}
		select {
		case <-t.C:
			return nil
		case <-r.ctx.Done():
			return status.FromContextError(r.ctx.Err()).Err()
		case <-r.cc.picks.changed(turn): // it may be that the channel closes
		}
	}
}
