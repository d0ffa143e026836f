// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/status"
)

func TestParsePushback(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   pushback
	}{
		{nil, pushback{}},
		{[]string{"0"}, pushback{said: true}},
		{[]string{"1500"}, pushback{said: true, delay: 1500 * time.Millisecond}},
		{[]string{"-1"}, pushback{said: true, never: true}},
		{[]string{"soon"}, pushback{said: true, never: true}},
		{[]string{"1", "2"}, pushback{said: true, never: true}},
		{[]string{"9223372036854775807"}, pushback{said: true, never: true}},
	} {
		if got := parsePushback(tt.values); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.values, got, tt.want)
		}
	}
}

func TestThrottle(t *testing.T) {
	b := newRetryThrottle(&serviceconfig.RetryThrottling{MaxTokens: 4, TokenRatio: 0.5})
	for i, want := range []bool{false, true, true, true, true} { // 3, 2, 1, 0, 0
		if got := b.failed(); got != want {
			t.Errorf("failure %d: throttled is %t", i+1, got)
		}
	}
	for range 6 { // 3
		b.succeeded()
	}
	if b.tokens != 3 || b.failed() != true { // 2 is the threshold
		t.Errorf("%v tokens", b.tokens)
	}
	for range 100 {
		b.succeeded()
	}
	if b.tokens != 4 || b.failed() {
		t.Errorf("%v tokens after many successes", b.tokens)
	}
	var none *retryThrottle
	none.succeeded()
	if none.failed() {
		t.Error("no throttle throttles")
	}
}

func TestRetryDecision(t *testing.T) {
	policy := &serviceconfig.RetryPolicy{
		MaxAttempts: 3, InitialBackoff: time.Second, MaxBackoff: 3 * time.Second, BackoffMultiplier: 2,
		RetryableStatusCodes: map[codes.Code]bool{codes.Unavailable: true},
	}
	var (
		middle      = func() float64 { return 0.5 }
		transparent = verdict{retry: true, transparent: true}
		after       = func(d time.Duration) verdict { return verdict{retry: true, delay: d} }
		unavailable = status.New(codes.Unavailable, "")
		internal    = status.New(codes.Internal, "")
	)
	type step struct {
		f    failure
		want verdict
	}
	fail := func(want verdict) step { return step{failure{status: unavailable}, want} }
	for _, tt := range []struct {
		what     string
		noPolicy bool
		throttle *serviceconfig.RetryThrottling
		steps    []step
	}{
		{"back-off and the bound", false, nil, []step{fail(after(time.Second)), fail(after(2 * time.Second)), fail(verdict{exhausted: 3})}},
		{"another code", false, nil, []step{{failure{status: internal}, verdict{}}}},
		{"headers came, or the balancer dropped it", false, nil, []step{{failure{status: unavailable, final: true}, verdict{}}}},
		{"no policy", true, nil, []step{fail(verdict{})}},
		{"nothing sent, any number of times", true, nil, []step{
			{failure{unsent: true}, transparent}, {failure{unsent: true}, transparent}, {failure{unsent: true}, transparent},
		}},
		{"not processed, once", true, nil, []step{
			{failure{unprocessed: true, status: unavailable}, transparent}, {failure{unprocessed: true, status: unavailable}, verdict{}},
		}},
		{"not processed, then by the policy", false, nil, []step{
			{failure{unprocessed: true, status: unavailable}, transparent},
			{failure{unprocessed: true, status: unavailable}, after(time.Second)},
		}},
		{"pushback begins the back-off anew", false, nil, []step{
			fail(after(time.Second)),
			{failure{status: unavailable, pushback: pushback{said: true, delay: time.Minute}}, after(time.Minute)},
		}},
		{"pushback against it", false, nil, []step{
			{failure{status: unavailable, pushback: pushback{said: true, never: true}}, verdict{}},
		}},
		{"throttled", false, &serviceconfig.RetryThrottling{MaxTokens: 2, TokenRatio: 1}, []step{fail(verdict{})}},
		{"a fatal pushback takes a token too", false, &serviceconfig.RetryThrottling{MaxTokens: 3, TokenRatio: 1}, []step{
			{failure{status: internal, pushback: pushback{said: true, never: true}}, verdict{}}, fail(verdict{}),
		}},
	} {
		s := retryState{policy: policy, attempts: policy.MaxAttempts, throttle: newRetryThrottle(tt.throttle)}
		if tt.noPolicy {
			s.policy = nil
		}
		for i, step := range tt.steps {
			step.f.random = middle
			if got := s.decide(step.f); got != step.want {
				t.Errorf("%s: step %d: %+v, want %+v", tt.what, i, got, step.want)
			}
		}
	}
}

func TestRetryDelay(t *testing.T) {
	p := &serviceconfig.RetryPolicy{InitialBackoff: time.Second, MaxBackoff: 5 * time.Second, BackoffMultiplier: 2}
	for n, want := range []time.Duration{1, 2, 4, 5, 5} {
		for _, r := range []struct{ random, factor float64 }{{0, 0.8}, {0.5, 1}, {1, 1.2}} {
			got := retryDelay(p, n, func() float64 { return r.random })
			if d := got - time.Duration(float64(want*time.Second)*r.factor); d < -time.Microsecond || d > time.Microsecond {
				t.Errorf("retry %d at %v: %v", n, r.random, got)
			}
		}
	}
	if got := retryDelay(p, 100000, nil); got < 4*time.Second || got > 6*time.Second {
		t.Errorf("after many retries: %v", got)
	}
}
