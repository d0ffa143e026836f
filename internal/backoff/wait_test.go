// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		for _, tt := range []struct {
			pause, took time.Duration
			passed      bool
		}{
			{-time.Second, 0, true},
			{0, 0, true},
			{time.Second, time.Second, true},
			{time.Hour, time.Minute, false},
			{0, time.Minute, false},
		} {
			if got := Wait(ctx, tt.pause); got != tt.passed || time.Since(begin) != tt.took {
				t.Errorf("%v: %v after %v, want %v after %v", tt.pause, got, time.Since(begin), tt.passed, tt.took)
			}
		}
	})
}
