// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"context"
	"time"
)

// Wait waits for d, or for the end of ctx, and reports whether the time has passed. It does not
// wait if d is not above zero.
func Wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
