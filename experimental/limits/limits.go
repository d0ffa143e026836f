// SPDX-License-Identifier: Apache-2.0

// Package limits limits what all clients of a server together can use of it: connections, connections
// from one address, RPCs, and memory.
//
//	limiter := limits.New(limits.Limits{Connections: 10_000, ConnectionsPerAddress: 100, RPCs: 2_000})
//	server := grpc.NewServer(limiter.Option())
//
// # Semantics
//
//   - A connection over a limit is closed before the handshake of the credentials: the client sees a
//     failed connection attempt, and backs off. The operating system has accepted the connection by
//     then, as a server can refuse it in no other way, so it holds a descriptor for a moment.
//   - An RPC over a limit fails with code ResourceExhausted. It reaches no handler, interceptor, tap or
//     stats handler, and costs no goroutine. (Behind net/http stats handlers are told of its connection.) Clients don't retry it, unless their service config names
//     that code.
//   - An RPC counts until its handler has returned. If its stream was handed over (package
//     experimental/streams), it counts until its OnDone has returned.
//   - A connection counts from its acceptance until it is closed.
//   - An address is an IP address; a mapped IPv4 address counts as the IPv4 address. Connections without
//     one (unix sockets, bufconn) are not limited by address. The address is what RemoteAddr returns, so
//     a listener for the PROXY protocol is believed.
//   - BytesHeld is compared with the memory that the peers of all connections of the process make it hold,
//     including channels' connections (footprint.Snapshot.BytesHeld). New connections and RPCs are
//     refused while more is held. RPCs that are under way go on. The limit for each connection,
//     experimental.MaxBytesHeld, applies too.
//
// There are no limits by default. If several servers have the same Limiter, it counts for all of them.
//
// # Metrics
//
// Usage returns the figures. A stats handler of the server that is also a MetricsRecorder of
// experimental/stats is offered the counters grpc.server.connections_refused and
// grpc.server.rpcs_refused, with the label grpc.server.limit: connections,
// connections_per_address, rpcs, or bytes_held.
//
// # Edges
//
//   - Behind ServeHTTP only RPCs are limited: connections belong to net/http.
//   - Each attempt of an RPC that is retried or hedged counts.
//   - IPv6 addresses count one by one: a client with a whole network has as many addresses.
//   - Exempt lets health checks through when the server is full, so that it is not considered dead.
//   - With package xds, pass the option to xds.NewGRPCServer. Connections that no Listener resource accepts
//     count until they are closed. RPCs that match no route, or that a filter refuses, count until then.
//
// All of this may change, or be removed, in a later release.
package limits

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/limits"
	"google.golang.org/grpc/internal/transport"
)

// Limits are the largest numbers allowed. Zero stands for no limit.
type Limits struct {
	Connections           int   // open connections
	ConnectionsPerAddress int   // open connections from one IP address
	RPCs                  int   // RPCs that are under way
	BytesHeld             int64 // memory, in bytes, that all peers of the process together make it hold

	// Exempt reports whether the RPCs of a method ("/package.Service/Method") are neither counted
	// nor refused. nil means that no RPC is exempt. Any goroutine may call it. It must not block, and
	// must always return the same for a method.
	Exempt func(method string) bool
}

// Limiter counts connections and RPCs, and refuses those over the limits.
type Limiter struct{ limiter *limits.Limiter }

// New returns a Limiter that has counted nothing yet.
func New(l Limits) *Limiter { return &Limiter{limits.New(limits.Config(l))} }

// Option returns a ServerOption that makes a server obey the limits.
func (l *Limiter) Option() grpc.ServerOption { return option{limiter: l.limiter} }

// option is an option that package grpc recognises by its method.
type option struct {
	grpc.EmptyServerOption
	limiter *limits.Limiter
}

func (o option) Limiter() *limits.Limiter { return o.limiter }

// Usage is how much there is of what is limited, and how much has been refused so far.
type Usage struct {
	Connections        int
	RPCs               int
	BytesHeld          int64
	RefusedConnections int64
	RefusedRPCs        int64
}

// Usage returns the present figures. Several goroutines may call it at the same time.
func (l *Limiter) Usage() Usage {
	u := l.limiter.Usage()
	return Usage{
		Connections: u.Connections, RPCs: u.RPCs, BytesHeld: transport.BytesHeld(),
		RefusedConnections: u.RefusedConnections, RefusedRPCs: u.RefusedRPCs,
	}
}
