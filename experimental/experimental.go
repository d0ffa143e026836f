// SPDX-License-Identifier: Apache-2.0

// Package experimental has options that may change, or be removed, in any release.
package experimental

import (
	"google.golang.org/grpc"
	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

// WithBufferPool returns a DialOption that sets the pool from which a channel takes its buffers, for
// reading and for messages. The default is mem.DefaultBufferPool. Connections that a custom dialer or
// custom credentials wrap use the pool for messages only.
func WithBufferPool(bufferPool mem.BufferPool) grpc.DialOption {
	return dialPool{pool: bufferPool}
}

// dialPool is an option that package grpc recognises by its method.
type dialPool struct {
	grpc.EmptyDialOption
	pool mem.BufferPool
}

func (o dialPool) ChannelBufferPool() mem.BufferPool { return o.pool }

// BufferPool returns a ServerOption that sets the pool from which a server takes its buffers, for reading
// and for messages. The default is mem.DefaultBufferPool.
func BufferPool(bufferPool mem.BufferPool) grpc.ServerOption {
	return serverPool{pool: bufferPool}
}

// serverPool is an option that package grpc recognises by its method.
type serverPool struct {
	grpc.EmptyServerOption
	pool mem.BufferPool
}

func (o serverPool) ServerBufferPool() mem.BufferPool { return o.pool }

// MaxBytesHeld returns a ServerOption that limits the memory, in bytes, that a client can make a
// connection of the server hold: messages that have arrived, in whole or in part, and have not been
// received by a handler, headers, and the calls themselves until their handlers return. Over the limit
// the server refuses new calls on the connection with RST_STREAM ENHANCE_YOUR_CALM, which clients see as
// code ResourceExhausted. Over twice the limit it ends the connection with a GOAWAY that says so.
//
// With or without this option, a client can't make a connection hold much more than it sends. The limit
// is for well-meaning clients that send more at once than a server can handle. The default, 256 MiB, is
// that of the environment variable GRPC_GO_EXPERIMENTAL_MAX_BYTES_HELD. n <= 0 stands for the default,
// and n below 1 MiB for 1 MiB.
func MaxBytesHeld(n int64) grpc.ServerOption { return serverMaxHeld{held: maxHeld(n)} }

// WithMaxBytesHeld does for the connections of a channel what [MaxBytesHeld] does for a server's: over
// twice the limit a connection ends, and its calls fail with code Unavailable.
func WithMaxBytesHeld(n int64) grpc.DialOption { return dialMaxHeld{held: maxHeld(n)} }

func maxHeld(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return max(n, 1<<20)
}

// Package grpc recognises serverMaxHeld and dialMaxHeld by their methods.
type (
	serverMaxHeld struct {
		grpc.EmptyServerOption
		held int64
	}
	dialMaxHeld struct {
		grpc.EmptyDialOption
		held int64
	}
)

func (o serverMaxHeld) ServerMaxBytesHeld() int64 { return o.held }
func (o dialMaxHeld) ChannelMaxBytesHeld() int64  { return o.held }

// WithMaxConnectionsPerSubchannel returns a DialOption that limits what a service config's
//
//	"connectionScaling": {"maxConnectionsPerSubchannel": 4}
//
// can set for the channel (gRFC A105): how many connections the channel makes to one address. It makes
// another one when RPCs wait because each connection has as many as the server's
// SETTINGS_MAX_CONCURRENT_STREAMS allows. n <= 0 stands for the default, 10. Without that field in the
// service config there is one connection to an address, and RPCs wait for it. The channel reads the
// field only if the environment variable GRPC_EXPERIMENTAL_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING is
// true.
func WithMaxConnectionsPerSubchannel(n int) grpc.DialOption {
	return dialMaxConnections{connections: max(n, 0)}
}

// dialMaxConnections is an option that package grpc recognises by its method.
type dialMaxConnections struct {
	grpc.EmptyDialOption
	connections int
}

func (o dialMaxConnections) ChannelMaxConnections() int { return o.connections }

// SetDefaultBufferPool replaces what mem.DefaultBufferPool returns, for all channels and servers that
// are made later. Call it before gRPC is used, in an init function or at the beginning of main:
// otherwise buffers of the old pool may be put into the new one. nil restores the original pool.
func SetDefaultBufferPool(bufferPool mem.BufferPool) {
	if bufferPool == nil {
		internalmem.ReplaceDefault(nil)
		return
	}
	internalmem.ReplaceDefault(bufferPool)
}

// AcceptCompressors returns a CallOption that says with which compressors the server may compress the
// messages of one RPC: names of registered compressors, in the order of preference. The default is all
// that are registered, also if there is no name, or only "identity". A name that is not registered fails the
// RPC with codes.InvalidArgument, and a response that is compressed in another way, with codes.Internal.
func AcceptCompressors(names ...string) grpc.CallOption {
	return acceptCompressors{names: names}
}

// acceptCompressors is an option that package grpc recognises by its method.
type acceptCompressors struct {
	grpc.EmptyCallOption
	names []string
}

func (o acceptCompressors) AcceptCompressors() []string { return o.names }
