// SPDX-License-Identifier: Apache-2.0

// Package keepalive has the parameters for sending pings to peers, and for ending connections that
// are too old or idle; see grpc/doc/keepalive.md, gRFC A8 and A9.
package keepalive

import "time"

// ClientParameters determine how a client sends pings. They must agree with the server's
// EnforcementPolicy, as a server closes connections of clients that send pings too often.
type ClientParameters struct {
	// Time is how long the client must have received nothing before it sends a ping. Values under
	// 10 s, including zero, count as 10 s. A client without ClientParameters sends no pings.
	Time time.Duration
	// Timeout is how long the client waits after its ping to receive anything before it closes the
	// connection. Where the operating system supports it (gRFC A18), Timeout is also how long sent
	// data may stay unacknowledged. Zero means 20 s.
	Timeout time.Duration
	// PermitWithoutStream allows pings while no RPC is active.
	PermitWithoutStream bool
}

// ServerParameters determine how a server sends pings, and when it ends connections. Zero means the
// default.
type ServerParameters struct {
	// MaxConnectionIdle is how long a connection may have no RPC before a GOAWAY ends it. The time
	// counts from the end of the last RPC, or from the start of the connection. The default is no
	// limit, as are negative values.
	MaxConnectionIdle time.Duration
	// MaxConnectionAge is how old a connection may become before a GOAWAY ends it. The library
	// changes it by up to 10 % at random, so that clients don't reconnect all at once. The default
	// is no limit, as are negative values.
	MaxConnectionAge time.Duration
	// MaxConnectionAgeGrace is how long RPCs may go on after MaxConnectionAge before the connection
	// is closed. The default is no limit. Negative values leave no time.
	MaxConnectionAgeGrace time.Duration
	// Time is how long the server must have received nothing before it sends a ping. Values under 1
	// s count as 1 s. The default is 2 hours.
	Time time.Duration
	// Timeout is how long the server waits after its ping to receive anything before it closes the
	// connection. Where the operating system supports it (gRFC A18), Timeout is also how long sent
	// data may stay unacknowledged. The default is 20 s.
	Timeout time.Duration
}

// EnforcementPolicy says how often a server lets clients send pings. A client that sends more gets
// a GOAWAY with ENHANCE_YOUR_CALM ("too_many_pings").
type EnforcementPolicy struct {
	// MinTime is the shortest time between two pings of a client. Zero means 5 minutes.
	MinTime time.Duration
	// PermitWithoutStream allows pings while no RPC is active.
	PermitWithoutStream bool
}
