// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/trace"
)

// DriverConfig is the type of Config.Driver: settings that only the driver of a connection needs.
type DriverConfig struct {
	// Ground is what the connection runs on: the poller, the sweeper and the goroutines of its tasks.
	// Nil means those that the process shares.
	Ground *park.Ground
	// Trace is told of each frame, and of parking. Nil means no trace.
	Trace *trace.Log
}

// ground returns what connections with cfg run on; nil means what the process shares.
func ground(cfg *Config) *park.Ground {
	if d, ok := cfg.Driver.(DriverConfig); ok {
		return d.Ground
	}
	return nil
}

// watched reports whether the sockets of connections with cfg can be watched without a goroutine.
func watched(cfg *Config) bool {
	return ground(cfg) != nil || park.Supported() && !clock.InBubble()
}

// ground returns what the connection runs on; nil means what the process shares.
func (c *Conn) ground() *park.Ground { return ground(c.core.Config()) }

func (r *reader) ground() *park.Ground { return ground(r.core.Config()) }

// tracer returns the Log that is told what the connection does; nil means none.
func (c *Conn) tracer() *trace.Log {
	if d, ok := c.core.Config().Driver.(DriverConfig); ok {
		return d.Trace
	}
	return nil
}

func (r *reader) tracer() *trace.Log { return (*Conn)(r).tracer() }
