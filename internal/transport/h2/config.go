// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/trace"
)

// DriverConfig is what Config.Driver may be: what only the driver of a connection needs.
type DriverConfig struct {
	// Ground is what the connection stands on; nil: on what those of the process share.
	Ground *park.Ground
	// Trace is told of each frame, and of parking; nil: nobody is.
	Trace *trace.Log
}

// ground is what connections with cfg stand on.
func ground(cfg *Config) *park.Ground {
	if d, ok := cfg.Driver.(DriverConfig); ok {
		return d.Ground
	}
	return nil
}

// watched reports whether sockets of connections with cfg can be waited for without a goroutine.
func watched(cfg *Config) bool {
	return ground(cfg) != nil || park.Supported() && !clock.InBubble()
}

// ground is what the connection stands on.
func (c *Conn) ground() *park.Ground { return ground(c.core.Config()) }

func (r *reader) ground() *park.Ground { return ground(r.core.Config()) }

// tracer is told what the connection does; nil: nobody is.
func (c *Conn) tracer() *trace.Log {
	if d, ok := c.core.Config().Driver.(DriverConfig); ok {
		return d.Trace
	}
	return nil
}

func (r *reader) tracer() *trace.Log { return (*Conn)(r).tracer() }
