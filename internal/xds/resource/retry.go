// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"math"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc/codes"
)

// RetryPolicy says when RPCs are retried (A44). The backoff doubles each time.
type RetryPolicy struct {
	// Codes is empty if the policy has no condition that gRPC knows: then RPCs are not retried.
	Codes map[codes.Code]bool
	// MaxAttempts includes the first attempt. It is from 2 to 5.
	MaxAttempts                int
	InitialBackoff, MaxBackoff time.Duration
}

// maxAttempts is the limit of A6.
const maxAttempts = 5

// readRetry returns nil for no policy.
func readRetry(in *routev3.RetryPolicy) (*RetryPolicy, error) {
	if in == nil {
		return nil, nil
	}
	out := &RetryPolicy{
		Codes: retryCodes(in.GetRetryOn()), MaxAttempts: 2,
		InitialBackoff: 25 * time.Millisecond, MaxBackoff: 250 * time.Millisecond,
	}
	if n := in.GetNumRetries(); n != nil {
		if n.GetValue() < 1 {
			return nil, wrong("num_retries", "is 0; at least 1 is needed")
		}
		out.MaxAttempts = int(min(n.GetValue(), maxAttempts-1)) + 1
	}
	if in.GetRetryBackOff() != nil {
		if err := out.readBackoff(in.GetRetryBackOff()); err != nil {
			return nil, at("retry_back_off", err)
		}
	}
	return out, nil
}

func (p *RetryPolicy) readBackoff(in *routev3.RetryPolicy_RetryBackOff) (err error) {
	if in.GetBaseInterval() == nil {
		return wrong("base_interval", "missing")
	}
	if p.InitialBackoff, err = duration(in.GetBaseInterval()); err != nil {
		return at("base_interval", err)
	}
	if p.InitialBackoff == 0 {
		return wrong("base_interval", "is 0")
	}
	p.MaxBackoff = math.MaxInt64
	if p.InitialBackoff <= math.MaxInt64/10 {
		p.MaxBackoff = 10 * p.InitialBackoff
	}
	if in.GetMaxInterval() != nil {
		if p.MaxBackoff, err = duration(in.GetMaxInterval()); err != nil {
			return at("max_interval", err)
		}
		if p.MaxBackoff == 0 {
			return wrong("max_interval", "is 0")
		}
		if p.MaxBackoff < p.InitialBackoff {
			return wrong("max_interval", "%v is below base_interval of %v", p.MaxBackoff, p.InitialBackoff)
		}
	}
	p.InitialBackoff = max(p.InitialBackoff, time.Millisecond)
	p.MaxBackoff = max(p.MaxBackoff, time.Millisecond)
	return nil
}

// retryCodes returns the codes for the conditions that gRPC knows. It ignores all others,
// such as Envoy's HTTP ones.
func retryCodes(on string) map[codes.Code]bool {
	out := make(map[codes.Code]bool)
	for condition := range strings.SplitSeq(on, ",") {
		switch strings.ToLower(strings.TrimSpace(condition)) {
		case "cancelled":
			out[codes.Canceled] = true
		case "deadline-exceeded":
			out[codes.DeadlineExceeded] = true
		case "internal":
			out[codes.Internal] = true
		case "resource-exhausted":
			out[codes.ResourceExhausted] = true
		case "unavailable":
			out[codes.Unavailable] = true
		}
	}
	return out
}
