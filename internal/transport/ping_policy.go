// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/keepalive"
)

const (
	maxPingStrikes = 2
	// idlePingInterval is how often a client without streams may ping if the policy does not permit that in
	// general, gRFC A8.
	idlePingInterval = 2 * time.Hour
	// tooManyPings is the debug text of the GOAWAY, which tells clients what to change.
	tooManyPings = "too_many_pings"
)

// pingCount enforces how often a client may ping, gRFC A8. It is pure: the clock is an argument.
type pingCount struct {
	last    int64 // when the last one came, in nanoseconds of the caller's clock; 0: never
	strikes int32
}

// ping judges one PING. sent says that we have sent headers or data since the last one: that resets the
// strikes, because a client may ping to measure its link.
func (p *pingCount) ping(policy *keepalive.EnforcementPolicy, now int64, streams int, sent bool) error {
	since, first := time.Duration(now-p.last), p.last == 0
	p.last = now
	if sent {
		p.strikes = 0
		return nil
	}
	least := policy.MinTime
	if streams == 0 && !policy.PermitWithoutStream {
		least = max(least, idlePingInterval)
	}
	if first || since >= least {
		return nil
	}
	if p.strikes++; p.strikes > maxPingStrikes {
		p.strikes = maxPingStrikes
		return frame.ConnError(frame.EnhanceYourCalm, tooManyPings)
	}
	return nil
}
