// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/keepalive"
)

const (
	maxPingStrikes = 2
	// idlePingInterval is how often a client without streams may ping where
	// that is not permitted in general, gRFC A8.
	idlePingInterval = 2 * time.Hour
)

// pingPolicy enforces how often a client may ping, gRFC A8. Pure: the clock is
// an argument.
type pingPolicy struct {
	policy  keepalive.EnforcementPolicy
	last    time.Time
	strikes int
}

// ping judges one PING. sent says that we have sent headers or data since the
// last: that resets everything, since a client may ping to measure its link.
func (p *pingPolicy) ping(now time.Time, streams int, sent bool) error {
	if sent {
		p.strikes = 0
		p.last = now
		return nil
	}
	least := p.policy.MinTime
	if streams == 0 && !p.policy.PermitWithoutStream {
		least = max(least, idlePingInterval)
	}
	early := !p.last.IsZero() && now.Sub(p.last) < least
	p.last = now
	if !early {
		return nil
	}
	if p.strikes++; p.strikes > maxPingStrikes {
		return frame.ConnError(frame.EnhanceYourCalm, "too_many_pings")
	}
	return nil
}
