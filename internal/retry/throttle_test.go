// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"testing"

	"google.golang.org/grpc/internal/serviceconfig"
)

func TestThrottle(t *testing.T) {
	b := NewThrottle(&serviceconfig.RetryThrottling{MaxTokens: 4, TokenRatio: 0.5})
	for i, want := range []bool{false, true, true, true, true} { // 3, 2, 1, 0, 0
		if got := b.Failed(); got != want {
			t.Errorf("failure %d: throttled is %t", i+1, got)
		}
	}
	for range 6 { // 3
		b.Succeeded()
	}
	if b.tokens != 3 || b.Failed() != true { // 2 is the threshold
		t.Errorf("%v tokens", b.tokens)
	}
	for range 100 {
		b.Succeeded()
	}
	if b.tokens != 4 || b.Failed() {
		t.Errorf("%v tokens after many successes", b.tokens)
	}
	var none *Throttle
	none.Succeeded()
	if none.Failed() {
		t.Error("no throttle throttles")
	}
}
