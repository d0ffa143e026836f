// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/status"
)

func TestDecide(t *testing.T) {
	policy := &serviceconfig.RetryPolicy{
		MaxAttempts: 3, InitialBackoff: time.Second, MaxBackoff: 3 * time.Second, BackoffMultiplier: 2,
		RetryableStatusCodes: map[codes.Code]bool{codes.Unavailable: true},
	}
	var (
		middle      = func() float64 { return 0.5 }
		transparent = Verdict{Retry: true, Transparent: true}
		after       = func(d time.Duration) Verdict { return Verdict{Retry: true, Delay: d} }
		unavailable = status.New(codes.Unavailable, "")
		internal    = status.New(codes.Internal, "")
	)
	type step struct {
		f    Failure
		want Verdict
	}
	fail := func(want Verdict) step { return step{Failure{Status: unavailable}, want} }
	for _, tt := range []struct {
		what     string
		noPolicy bool
		throttle *serviceconfig.RetryThrottling
		steps    []step
	}{
		{"back-off and the bound", false, nil, []step{fail(after(time.Second)), fail(after(2 * time.Second)), fail(Verdict{Exhausted: 3})}},
		{"another code", false, nil, []step{{Failure{Status: internal}, Verdict{}}}},
		{"headers came, or the balancer dropped it", false, nil, []step{{Failure{Status: unavailable, Final: true}, Verdict{}}}},
		{"no policy", true, nil, []step{fail(Verdict{})}},
		{"nothing sent, any number of times", true, nil, []step{
			{Failure{Unsent: true}, transparent}, {Failure{Unsent: true}, transparent}, {Failure{Unsent: true}, transparent},
		}},
		{"not processed, once", true, nil, []step{
			{Failure{Unprocessed: true, Status: unavailable}, transparent}, {Failure{Unprocessed: true, Status: unavailable}, Verdict{}},
		}},
		{"not processed, then by the policy", false, nil, []step{
			{Failure{Unprocessed: true, Status: unavailable}, transparent},
			{Failure{Unprocessed: true, Status: unavailable}, after(time.Second)},
		}},
		{"pushback begins the back-off anew", false, nil, []step{
			fail(after(time.Second)),
			{Failure{Status: unavailable, Pushback: Pushback{Said: true, Delay: time.Minute}}, after(time.Minute)},
		}},
		{"pushback against it", false, nil, []step{
			{Failure{Status: unavailable, Pushback: Pushback{Said: true, Never: true}}, Verdict{}},
		}},
		{"throttled", false, &serviceconfig.RetryThrottling{MaxTokens: 2, TokenRatio: 1}, []step{fail(Verdict{})}},
		{"a fatal pushback takes a token too", false, &serviceconfig.RetryThrottling{MaxTokens: 3, TokenRatio: 1}, []step{
			{Failure{Status: internal, Pushback: Pushback{Said: true, Never: true}}, Verdict{}}, fail(Verdict{}),
		}},
	} {
		s := State{Policy: policy, Attempts: policy.MaxAttempts, Throttle: NewThrottle(tt.throttle)}
		if tt.noPolicy {
			s.Policy = nil
		}
		for i, step := range tt.steps {
			step.f.random = middle
			if got := s.Decide(step.f); got != step.want {
				t.Errorf("%s: step %d: %+v, want %+v", tt.what, i, got, step.want)
			}
		}
	}
}

// TestLegsShareTheRetryOfRefused: of all attempts of a hedged RPC one is made again that a server
// refused.
func TestLegsShareTheRetryOfRefused(t *testing.T) {
	var rpc State
	rpc.Hedge()
	granted := 0
	for n := range 5 {
		leg := rpc.Leg(n)
		for range 2 {
			if leg.Decide(Failure{Unprocessed: true, Status: status.New(codes.Unavailable, "")}).Retry {
				granted++
			}
		}
		if !leg.Decide(Failure{Unsent: true}).Transparent {
			t.Errorf("leg %d: what was never sent is not sent again", n)
		}
	}
	if granted != 1 {
		t.Errorf("%d retries of what was refused, want 1", granted)
	}
}

func TestDelay(t *testing.T) {
	p := &serviceconfig.RetryPolicy{InitialBackoff: time.Second, MaxBackoff: 5 * time.Second, BackoffMultiplier: 2}
	for n, want := range []time.Duration{1, 2, 4, 5, 5} {
		for _, r := range []struct{ random, factor float64 }{{0, 0.8}, {0.5, 1}, {1, 1.2}} {
			got := delay(p, n, func() float64 { return r.random })
			if d := got - time.Duration(float64(want*time.Second)*r.factor); d < -time.Microsecond || d > time.Microsecond {
				t.Errorf("retry %d at %v: %v", n, r.random, got)
			}
		}
	}
	if got := delay(p, 100000, nil); got < 4*time.Second || got > 6*time.Second {
		t.Errorf("after many retries: %v", got)
	}
}

// TestPushbackCounts: a pushback that forbids retries counts for the channel where the RPC would not be retried anyway: it
// has no policy, or the server has served it.
func TestPushbackCounts(t *testing.T) {
	policy := &serviceconfig.RetryPolicy{RetryableStatusCodes: map[codes.Code]bool{codes.Internal: true}}
	for name, s := range map[string]State{"no policy": {}, "served": {Policy: policy, Attempts: 3}} {
		s.Throttle = NewThrottle(&serviceconfig.RetryThrottling{MaxTokens: 4, TokenRatio: 0.1})
		f := Failure{Status: status.New(codes.Internal, ""), Served: name == "served"}
		if v := s.Decide(f); v != (Verdict{}) || s.Throttle.Throttled() {
			t.Errorf("%s: %+v", name, v)
		}
		f.Pushback = Pushback{Said: true, Never: true}
		for range 2 {
			if v := s.Decide(f); v != (Verdict{}) {
				t.Errorf("%s: %+v", name, v)
			}
		}
		if !s.Throttle.Throttled() {
			t.Errorf("%s: the pushbacks do not count", name)
		}
	}
}
