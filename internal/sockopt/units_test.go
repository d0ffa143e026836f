// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"math"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for _, tt := range []struct {
		d            time.Duration
		milli, whole int
	}{
		{time.Millisecond, 1, 1},
		{time.Second, 1000, 1},
		{time.Second + 1, 1000, 2},
		{20 * time.Second, 20_000, 20},
		{7*time.Second + 999*time.Microsecond, 7000, 8},
		{60 * 24 * time.Hour, math.MaxInt32, math.MaxInt32 / 1000}, // two months
		{24 * 24 * time.Hour, 24 * 24 * 3600 * 1000, 24 * 24 * 3600},
		{math.MaxInt64, math.MaxInt32, math.MaxInt32 / 1000},
	} {
		if ms, s := inMilliseconds(tt.d), inSeconds(tt.d); ms != tt.milli || s != tt.whole {
			t.Errorf("%v: %d ms, %d s; want %d, %d", tt.d, ms, s, tt.milli, tt.whole)
		}
	}
}
