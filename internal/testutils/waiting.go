// SPDX-License-Identifier: Apache-2.0

package testutils

import (
	"context"
	"strings"
	"time"
)

// EndsWaiting makes a call that waits until its deadline, and returns its error, which is to contain text. The
// deadline may pass before the call has begun to wait, on a machine that is busy. So it is called again with twice the
// time, up to about twenty seconds, until its error contains text.
func EndsWaiting(ctx context.Context, call func(context.Context) error, text string) (err error) {
	for timeout := 20 * time.Millisecond; timeout < 20*time.Second; timeout *= 2 {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		err = call(ctx)
		cancel()
		if err == nil || strings.Contains(err.Error(), text) {
			return err
		}
	}
	return err
}
