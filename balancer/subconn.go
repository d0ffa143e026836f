// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/resolver"
)

// SubConn is a subchannel: it connects to one address of a list when the balancer tells it to. It
// begins idle and does nothing before Connect. When a ready SubConn loses its connection, it
// becomes idle again. When an attempt to connect fails, it is in TransientFailure for the back-off,
// and then idle (connection-backoff.md).
//
// The methods are safe for concurrent use. A type that wraps a SubConn must embed it.
type SubConn interface {
	// UpdateAddresses replaces the addresses. A new connection replaces the present one, unless
	// only BalancerAttributes have changed.
	//
	// Deprecated: make a new SubConn and shut this one down.
	UpdateAddresses([]resolver.Address)
	// Connect starts connecting if the SubConn is idle, and does not wait.
	Connect()
	// GetOrBuildProducer returns the producer that the builder makes for this SubConn, and a
	// function that gives it back. The first call builds the producer; later calls share it. The
	// producer is closed when every caller has given it back, or when the SubConn's state changes.
	// In the second case the StateListener is called after that.
	GetOrBuildProducer(ProducerBuilder) (p Producer, closeFunc func())
	// Shutdown shuts the SubConn down. RPCs on its connection go on, and the connection closes
	// after the last one. The SubConn reports the state Shutdown and no other state after that.
	Shutdown()
	// RegisterHealthListener registers a function that is called with the server's health while the
	// SubConn is ready. It replaces an earlier one. The first health is Connecting, or Ready if the
	// health is not checked. When the SubConn leaves Ready, the function is not called any more,
	// and the balancer must register it again at the next Ready.
	//
	// The function may be called while another goroutine calls the balancer's methods, also during
	// and after Close.
	RegisterHealthListener(func(SubConnState))

	internal.EnforceSubConnEmbedding
}

// NewSubConnOptions has the options of a new SubConn.
type NewSubConnOptions struct {
	// CredsBundle replaces credentials of the channel. Its transport credentials, unless they are
	// nil, replace the channel's. Its per-RPC credentials replace those of the channel's bundle.
	//
	// Deprecated: put the credentials into the Attributes of the address.
	CredsBundle credentials.Bundle
	// HealthCheckEnabled turns on client-side health checking (gRFC A17), if the service config
	// asks for it: the SubConn then reports Ready only while the server says that it is serving.
	HealthCheckEnabled bool
	// StateListener is called with every new state, one at a time and in order, and not
	// concurrently with a method of the balancer. If it is nil, the balancer's UpdateSubConnState
	// is called instead.
	StateListener func(SubConnState)
}

// SubConnState is the state of a SubConn.
type SubConnState struct {
	// ConnectivityState is the state.
	ConnectivityState connectivity.State
	// ConnectionError is the reason if the state is TransientFailure.
	ConnectionError error
}

// ProducerBuilder makes producers of one kind. Builders are compared with ==, so a ProducerBuilder
// must be comparable.
type ProducerBuilder interface {
	// Build makes a producer. The argument is a grpc.ClientConnInterface for RPCs on this one
	// SubConn. closeFunc frees the producer, which must not make RPCs after closeFunc has returned.
	Build(grpcClientConnInterface any) (p Producer, closeFunc func())
}

// Producer is something that belongs to one SubConn and that all callers of GetOrBuildProducer
// share, such as a stream of load reports.
type Producer any
