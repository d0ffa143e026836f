// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"time"

	"google.golang.org/grpc/backoff"
)

// defaultMinConnectTimeout is that of connection-backoff.md.
const defaultMinConnectTimeout = 20 * time.Second

// DefaultBackoffConfig has the longest pause of connection-backoff.md.
//
// Deprecated: use ConnectParams.
var DefaultBackoffConfig = BackoffConfig{MaxDelay: 120 * time.Second}

// BackoffConfig bounds the pauses between attempts to connect.
//
// Deprecated: use ConnectParams.
type BackoffConfig struct {
	// MaxDelay is the longest pause.
	MaxDelay time.Duration
}

// ConnectParams says how a channel tries to connect. It is best begun as
// ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 20 * time.Second}.
// What is left out does not make a channel connect without a pause: see the fields.
type ConnectParams struct {
	// Backoff says how the pauses between attempts grow. Without a BaseDelay they
	// begin with 100 milliseconds, without a Multiplier they grow 1.6 times each, and
	// without a MaxDelay they stay as long as the first. No pause is shorter than a
	// millisecond.
	Backoff backoff.Config
	// MinConnectTimeout is how long an attempt may take even where the pause after
	// it would be shorter. 0 stands for one second, or 20 if there is no BaseDelay
	// either.
	MinConnectTimeout time.Duration
}

func (p ConnectParams) minConnectTimeout() time.Duration {
	switch {
	case p.MinConnectTimeout > 0:
		return p.MinConnectTimeout
	case p.Backoff.BaseDelay > 0:
		return time.Second
	}
	return defaultMinConnectTimeout
}
