// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"sync"

	"google.golang.org/grpc/internal/serviceconfig"
)

// Throttle is the token bucket of gRFC A6. Each channel has one. A nil Throttle is always full.
type Throttle struct {
	// Immutable.
	limit, threshold, ratio float64

	mu     sync.Mutex
	tokens float64
}

// NewThrottle returns a full token bucket, or nil if c is nil.
func NewThrottle(c *serviceconfig.RetryThrottling) *Throttle {
	if c == nil {
		return nil
	}
	return &Throttle{limit: c.MaxTokens, threshold: c.MaxTokens / 2, ratio: c.TokenRatio, tokens: c.MaxTokens}
}

// Failed takes a token for a failure, and reports whether retries are now forbidden.
func (t *Throttle) Failed() (throttled bool) {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens = max(t.tokens-1, 0)
	return t.tokens <= t.threshold
}

// Throttled reports whether retries are forbidden now.
func (t *Throttle) Throttled() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tokens <= t.threshold
}

// Succeeded adds ratio, which may be a part of a token, for a success.
func (t *Throttle) Succeeded() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens = min(t.tokens+t.ratio, t.limit)
}
