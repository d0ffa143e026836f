// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/resolver"
)

// SubConn is a subchannel: a connection, or the wish for one, to one of a list of
// addresses. It begins idle and does nothing before Connect. After it was ready and
// lost its connection it is idle again; after it failed it waits out a back-off in
// TransientFailure and is idle then (connection-backoff.md).
//
// Methods may be called from several goroutines. A SubConn that wraps another embeds it.
type SubConn interface {
	// UpdateAddresses replaces the addresses. A connection gives way to a new one, unless
	// nothing has changed but BalancerAttributes.
	//
	// Deprecated: make a new SubConn and shut this one down.
	UpdateAddresses([]resolver.Address)
	// Connect starts connecting if the SubConn is idle, and does not wait.
	Connect()
	// GetOrBuildProducer returns the producer that builder makes for this SubConn,
	// building it on the first call, and a function that gives it back. When all have
	// given it back, or the SubConn's state changes, the producer is closed; the listener
	// hears of the state after that.
	GetOrBuildProducer(ProducerBuilder) (p Producer, closeFunc func())
	// Shutdown gives the SubConn up: its connection drains, RPCs on it go on, and no
	// state is reported after Shutdown's own.
	Shutdown()
	// RegisterHealthListener makes the function hear of the server's health while
	// the SubConn is ready, in place of an earlier one, beginning with Connecting.
	// Where no health check is made it hears Ready. It hears nothing more once the
	// SubConn has left Ready, and must be registered again at the next Ready.
	RegisterHealthListener(func(SubConnState))

	internal.EnforceSubConnEmbedding
}

// NewSubConnOptions says how a new SubConn is to be.
type NewSubConnOptions struct {
	// CredsBundle stands in for the credentials of the channel: its transport
	// credentials for the channel's, unless they are nil, and its per-RPC credentials
	// for those of the channel's bundle.
	//
	// Deprecated: put the credentials into the Attributes of the address.
	CredsBundle credentials.Bundle
	// HealthCheckEnabled says that client-side health checking (gRFC A17) applies,
	// if the service config asks for it: Ready is then reported when the server says
	// that it serves.
	HealthCheckEnabled bool
	// StateListener is told every change of state, one at a time, in order, and not
	// at the same time as a method of the balancer. Without it the balancer's
	// UpdateSubConnState is called.
	StateListener func(SubConnState)
}

// SubConnState is the state of a SubConn.
type SubConnState struct {
	// ConnectivityState is the state.
	ConnectivityState connectivity.State
	// ConnectionError says why, when the state is TransientFailure.
	ConnectionError error
}

// ProducerBuilder makes the Producers of one kind. It is compared with ==, so it must
// be a comparable value.
type ProducerBuilder interface {
	// Build makes a producer. The argument is a grpc.ClientConnInterface for RPCs on
	// this one SubConn. The function frees the producer; after it returned the
	// producer makes no RPC.
	Build(grpcClientConnInterface any) (p Producer, closeFunc func())
}

// Producer is something that lives on one SubConn and is shared by all who ask for it,
// like a stream of load reports.
type Producer any
