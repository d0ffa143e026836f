// SPDX-License-Identifier: Apache-2.0

// Package backoff computes the pauses between attempts to connect.
package backoff

import (
	"math"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/backoff"
)

// Strategy decides how long the pauses are. It must be safe for concurrent use.
type Strategy interface {
	// Backoff returns the pause after the given number of failed retries. It is 0 after the first
	// attempt.
	Backoff(retries int) time.Duration
}

// Exponential is the Strategy of grpc/doc/connection-backoff.md.
type Exponential struct {
	Config backoff.Config
	// Random returns a number in [0, 1). Nil means math/rand.
	Random func() float64
}

const (
	unsetBaseDelay = 100 * time.Millisecond
	minPause       = time.Millisecond
)

// Sane replaces the fields of c that are unset or invalid. With c as it is, a channel might dial a
// server that is down as fast as the machine can.
func Sane(c backoff.Config) backoff.Config {
	if c.BaseDelay <= 0 {
		c.BaseDelay = unsetBaseDelay
	}
	if c.MaxDelay <= 0 {
		c.MaxDelay = c.BaseDelay
	}
	switch {
	case c.Multiplier <= 0 || math.IsNaN(c.Multiplier):
		c.Multiplier = backoff.DefaultConfig.Multiplier
	case c.Multiplier < 1:
		c.Multiplier = 1
	}
	if c.Jitter < 0 || math.IsNaN(c.Jitter) {
		c.Jitter = 0
	}
	c.BaseDelay, c.MaxDelay = max(c.BaseDelay, minPause), max(c.MaxDelay, minPause)
	return c
}

// Default is Exponential with backoff.DefaultConfig.
var Default = Exponential{Config: backoff.DefaultConfig}

// Backoff returns BaseDelay for 0 retries, as the specification says, and otherwise the pause that
// follows from the Config, which is never negative.
func (e Exponential) Backoff(retries int) time.Duration {
	c := e.Config
	if retries <= 0 {
		return max(c.BaseDelay, 0)
	}
	// Pow may return +Inf, which Min and saturate handle.
	pause := math.Min(float64(c.BaseDelay)*math.Pow(c.Multiplier, float64(retries)), float64(c.MaxDelay))
	random := rand.Float64
	if e.Random != nil {
		random = e.Random
	}
	return saturate(pause * (1 + c.Jitter*(2*random()-1)))
}

// saturate converts d to a Duration and limits it to the range from 0 to MaxInt64. NaN, which an
// invalid Config can cause, becomes 0.
func saturate(d float64) time.Duration {
	switch {
	case d >= math.MaxInt64:
		return math.MaxInt64
	case d > 0:
		return time.Duration(d)
	}
	return 0
}
