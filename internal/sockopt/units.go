// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"math"
	"time"
)

func inMilliseconds(d time.Duration) int { return int(min(d/time.Millisecond, math.MaxInt32)) }

func inSeconds(d time.Duration) int {
	return int(min((d-1)/time.Second+1, math.MaxInt32))
}
