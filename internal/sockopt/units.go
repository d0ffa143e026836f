// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"math"
	"time"
)

func inMilliseconds(d time.Duration) int { return int(min(d/time.Millisecond, math.MaxInt32)) }

// inSeconds returns at most 24 days: macOS keeps the number in milliseconds, as 32 bits.
func inSeconds(d time.Duration) int { return int(min((d-1)/time.Second+1, math.MaxInt32/1000)) }
