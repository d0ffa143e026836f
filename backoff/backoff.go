// SPDX-License-Identifier: Apache-2.0

// Package backoff configures how long a channel waits between attempts to connect;
// see grpc/doc/connection-backoff.md.
package backoff

import "time"

// Config says how the pauses grow: the n-th is BaseDelay * Multiplier^n, at most
// MaxDelay, spread by Jitter.
type Config struct {
	// BaseDelay is the pause after the first failure.
	BaseDelay time.Duration
	// Multiplier is what each pause is to the one before. It should be above 1.
	Multiplier float64
	// Jitter is the fraction of a pause by which it is made longer or shorter at
	// random, so that clients don't come back all at once.
	Jitter float64
	// MaxDelay bounds the pause before jitter.
	MaxDelay time.Duration
}

// DefaultConfig has the values that connection-backoff.md proposes.
var DefaultConfig = Config{
	BaseDelay:  time.Second,
	Multiplier: 1.6,
	Jitter:     0.2,
	MaxDelay:   120 * time.Second,
}
