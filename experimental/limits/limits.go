// SPDX-License-Identifier: Apache-2.0

// Package limits bounds what all clients of a server together can have of it: connections,
// connections of one address, RPCs, and memory.
//
//	limiter := limits.New(limits.Limits{Connections: 10_000, ConnectionsPerAddress: 100, RPCs: 2_000})
//	server := grpc.NewServer(limiter.Option())
//
// # Semantics
//
//   - A connection over a limit is closed before the handshake of the credentials: the client sees
//     a failed connection attempt, and backs off. It is accepted by the operating system first, as a
//     server can't say no in another way, so that it holds a descriptor for a moment.
//   - An RPC over a limit fails with code ResourceExhausted. It reaches no handler, no interceptor,
//     tap or stats handler, and costs no goroutine. Clients don't retry it, unless their service
//     config names that code.
//   - An RPC counts until its handler has returned, or until the OnDone of a stream that was handed
//     over (package experimental/streams) has.
//   - A connection counts from its acceptance until it is closed.
//   - An address is an IP address, the IPv4 address of a mapped one. Connections without one (unix
//     sockets, bufconn) are not limited by address. It is what RemoteAddr says, so that a listener
//     for the PROXY protocol is believed.
//   - BytesHeld is compared with the memory that the peers of all connections of the process hold,
//     channels' included (footprint.Snapshot.BytesHeld): new connections and RPCs are refused while
//     it is above. What is under way goes on; the bound of each connection,
//     experimental.MaxBytesHeld, holds besides.
//
// There are no limits by default. A Limiter that several servers have counts for all of them.
//
// # Metrics
//
// Usage has the figures. A stats handler of the server that records metrics in the way of
// experimental/stats is offered the counters grpc.server.connections_refused and
// grpc.server.rpcs_refused, with the label grpc.server.limit: connections,
// connections_per_address, rpcs, or bytes_held.
//
// # Edges
//
//   - Behind ServeHTTP only RPCs are limited: connections are net/http's.
//   - Each attempt of an RPC that is retried or hedged counts.
//   - IPv6 addresses count one by one: who has a network of them has as many addresses.
//   - Exempt lets health checks through when the server is full, so that it is not taken for dead.
//   - With package xds, give the option to xds.NewGRPCServer. Connections that no Listener resource takes
//     are closed before they count; RPCs that no route or filter lets in count for that moment.
//
// All of this may change or go in a later release.
package limits

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/limits"
	"google.golang.org/grpc/internal/transport"
)

// Limits says how much there may be. Zero stands for no limit.
type Limits struct {
	Connections           int   // that are open
	ConnectionsPerAddress int   // of them, that are of one IP address
	RPCs                  int   // that are under way
	BytesHeld             int64 // in bytes, by all peers of the process together

	// Exempt tells, by their names ("/package.Service/Method"), the RPCs that are neither counted
	// nor refused; nil: there are none. Any goroutine may call it, it must not block, and it
	// must say the same of a name always.
	Exempt func(method string) bool
}

// Limiter counts what there is, and refuses what is too much.
type Limiter struct{ limiter *limits.Limiter }

// New returns a Limiter that has counted nothing yet.
func New(l Limits) *Limiter { return &Limiter{limits.New(limits.Config(l))} }

// Option has a server obey the limits.
func (l *Limiter) Option() grpc.ServerOption { return option{limiter: l.limiter} }

// option is known to package grpc by its method.
type option struct {
	grpc.EmptyServerOption
	limiter *limits.Limiter
}

func (o option) Limiter() *limits.Limiter { return o.limiter }

// Usage is what there is of what is limited, and what was refused so far.
type Usage struct {
	Connections        int
	RPCs               int
	BytesHeld          int64
	RefusedConnections int64
	RefusedRPCs        int64
}

// Usage counts. It may be called by any goroutine.
func (l *Limiter) Usage() Usage {
	u := l.limiter.Usage()
	return Usage{
		Connections: u.Connections, RPCs: u.RPCs, BytesHeld: transport.BytesHeld(),
		RefusedConnections: u.RefusedConnections, RefusedRPCs: u.RefusedRPCs,
	}
}
