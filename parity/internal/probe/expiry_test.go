// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestWithExpiry: a context, and all that are derived from it, exceed their deadlines by the call.
func TestWithExpiry(t *testing.T) {
	ctx, expire := WithExpiry(t.Context())
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if derived.Err() != nil {
		t.Error(derived.Err())
	}
	expire()
	<-derived.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(derived.Err(), context.DeadlineExceeded) {
		t.Errorf("%v, %v", ctx.Err(), derived.Err())
	}
	parent, cancel := context.WithCancel(t.Context())
	ctx, expire = WithExpiry(parent)
	cancel()
	<-ctx.Done()
	expire()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Error(ctx.Err())
	}
	ctx, cancel = WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if <-ctx.Done(); !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error(ctx.Err())
	}
}
