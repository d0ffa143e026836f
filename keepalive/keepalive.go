// SPDX-License-Identifier: Apache-2.0

// Package keepalive holds the parameters for pinging peers, and for ending
// connections by age or idleness; see grpc/doc/keepalive.md, gRFC A8 and A9.
package keepalive

import "time"

// ClientParameters say how a client pings. They must agree with the server's
// EnforcementPolicy: a server closes connections that ping too often.
type ClientParameters struct {
	// Time is how long nothing is received before the client sends a ping. Values
	// under 10 s, and zero, are taken as 10 s. A client that is given no parameters sends none.
	Time time.Duration
	// Timeout is how long the client waits for a sign of life after its ping
	// before it closes the connection, and, where the system can be told (gRFC A18),
	// how long anything that was sent may stay unacknowledged. Zero: 20 s.
	Timeout time.Duration
	// PermitWithoutStream allows pings while no RPC is active.
	PermitWithoutStream bool
}

// ServerParameters say how a server pings, and when it ends connections. A zero
// means the default.
type ServerParameters struct {
	// MaxConnectionIdle is how long a connection may be without an RPC (counted
	// from the last one's end, or from the start) before a GOAWAY ends it.
	// Default: for ever.
	MaxConnectionIdle time.Duration
	// MaxConnectionAge is how old a connection may become before a GOAWAY ends
	// it; the library moves it by up to 10 % at random, so that clients don't
	// reconnect all at once. Default: for ever.
	MaxConnectionAge time.Duration
	// MaxConnectionAgeGrace is what remains to active RPCs after
	// MaxConnectionAge before the connection is closed under them. Default: for
	// ever.
	MaxConnectionAgeGrace time.Duration
	// Time is how long nothing is received before the server sends a ping. Values
	// under 1 s are taken as 1 s. Default: 2 hours.
	Time time.Duration
	// Timeout is how long the server waits for a sign of life after its ping
	// before it closes the connection, and, where the system can be told (gRFC A18),
	// how long anything that was sent may stay unacknowledged. Default: 20 s.
	Timeout time.Duration
}

// EnforcementPolicy says which pings of clients a server puts up with. A client that
// sends more gets GOAWAY with ENHANCE_YOUR_CALM ("too_many_pings").
type EnforcementPolicy struct {
	// MinTime is the least time between two pings. Zero: 5 minutes.
	MinTime time.Duration
	// PermitWithoutStream allows pings while no RPC is active.
	PermitWithoutStream bool
}
