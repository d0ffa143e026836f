// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"math"
	"strconv"
	"time"

	"google.golang.org/grpc/internal/transport/grpcwire"
)

// Pushback is what a server says about retries in its trailers (gRFC A6).
type Pushback struct {
	Said  bool
	Never bool // the server forbids retries: the value is negative, or not one number of milliseconds
	Delay time.Duration
}

// PushbackIn returns the pushback in an attempt's trailers.
func PushbackIn(trailer map[string][]string) Pushback {
	return parsePushback(trailer[grpcwire.HeaderRetryPushback])
}

func parsePushback(values []string) Pushback {
	if len(values) == 0 {
		return Pushback{}
	}
	ms, err := strconv.ParseInt(values[0], 10, 64)
	if len(values) > 1 || err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return Pushback{Said: true, Never: true}
	}
	return Pushback{Said: true, Delay: time.Duration(ms) * time.Millisecond}
}
