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

// ConnectParams says how a channel tries to connect.
type ConnectParams struct {
	// Backoff says how the pauses between attempts grow.
	Backoff backoff.Config
	// MinConnectTimeout is how long an attempt may take even where the pause after
	// it would be shorter.
	MinConnectTimeout time.Duration
}
