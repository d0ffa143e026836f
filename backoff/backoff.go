// SPDX-License-Identifier: Apache-2.0

// Package backoff has the configuration of the pauses between a channel's attempts to connect; see
// grpc/doc/connection-backoff.md.
package backoff

import "time"

// Config determines the pauses. Before jitter, the pause after n failed retries is BaseDelay *
// Multiplier^n, but at most MaxDelay.
type Config struct {
	// BaseDelay is the pause after the first failure.
	BaseDelay time.Duration
	// Multiplier is the factor by which each pause is longer than the one before. It should be
	// above 1.
	Multiplier float64
	// Jitter is the largest fraction of a pause by which it becomes longer or shorter at random, so
	// that clients don't reconnect all at once.
	Jitter float64
	// MaxDelay is the longest pause but the first, before jitter. It does not limit BaseDelay.
	MaxDelay time.Duration
}

// DefaultConfig has the values that connection-backoff.md proposes.
var DefaultConfig = Config{
	BaseDelay:  time.Second,
	Multiplier: 1.6,
	Jitter:     0.2,
	MaxDelay:   120 * time.Second,
}
