// SPDX-License-Identifier: Apache-2.0

// Package experimental has options that may change or go in any release.
package experimental

import (
	"google.golang.org/grpc"
	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

// WithBufferPool sets where a channel takes its buffers from, for reading and for messages.
// The default is mem.DefaultBufferPool. Connections that a custom dialer or custom
// credentials wrap use it for messages only.
func WithBufferPool(bufferPool mem.BufferPool) grpc.DialOption {
	return dialPool{pool: bufferPool}
}

// dialPool is known to package grpc by its method.
type dialPool struct {
	grpc.EmptyDialOption
	pool mem.BufferPool
}

func (o dialPool) ChannelBufferPool() mem.BufferPool { return o.pool }

// BufferPool sets where a server takes its buffers from, for reading and for messages. The
// default is mem.DefaultBufferPool.
func BufferPool(bufferPool mem.BufferPool) grpc.ServerOption {
	return serverPool{pool: bufferPool}
}

// serverPool is known to package grpc by its method.
type serverPool struct {
	grpc.EmptyServerOption
	pool mem.BufferPool
}

func (o serverPool) ServerBufferPool() mem.BufferPool { return o.pool }

// MaxBytesHeld bounds the memory, in bytes, that a client can make a connection of a
// server hold: messages that have arrived, in whole or in part, and were not taken,
// headers, and the calls themselves until their handlers return. Past the bound new
// calls on the connection are refused with RST_STREAM ENHANCE_YOUR_CALM, which clients see as
// code ResourceExhausted; past twice the bound the connection ends with a GOAWAY that says so.
//
// What a client makes a connection hold is never much more than what it sends, with or without
// this. The bound is for what well-meaning clients may send at once and a server does not
// get round to. The default, 256 MiB, is that of the environment variable
// GRPC_GO_EXPERIMENTAL_MAX_BYTES_HELD; n <= 0 stands for it, and less than 1 MiB for 1 MiB.
func MaxBytesHeld(n int64) grpc.ServerOption { return serverMaxHeld{held: maxHeld(n)} }

// WithMaxBytesHeld is [MaxBytesHeld] for the connections of a channel: past twice the bound
// a connection ends, and its calls fail with code Unavailable.
func WithMaxBytesHeld(n int64) grpc.DialOption { return dialMaxHeld{held: maxHeld(n)} }

func maxHeld(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return max(n, 1<<20)
}

// serverMaxHeld and dialMaxHeld are known to package grpc by their methods.
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

// WithMaxConnectionsPerSubchannel bounds what a service config's
//
//	"connectionScaling": {"maxConnectionsPerSubchannel": 4}
//
// can set for the channel (gRFC A105): how many connections it makes to one address, each
// when RPCs wait because there are as many on those before it as the server's
// SETTINGS_MAX_CONCURRENT_STREAMS lets. n <= 0 stands for the default, 10. Without that in the
// service config there is one connection to an address, and RPCs wait for it. The field is
// read only where the environment variable
// GRPC_EXPERIMENTAL_MAX_CONCURRENT_STREAMS_CONNECTION_SCALING is true.
func WithMaxConnectionsPerSubchannel(n int) grpc.DialOption {
	return dialMaxConnections{connections: max(n, 0)}
}

// dialMaxConnections is known to package grpc by its method.
type dialMaxConnections struct {
	grpc.EmptyDialOption
	connections int
}

func (o dialMaxConnections) ChannelMaxConnections() int { return o.connections }

// SetDefaultBufferPool replaces what mem.DefaultBufferPool returns, for all channels and
// servers that are made later. It has to be called before gRPC is used, in an init
// function or at the beginning of main: buffers of the old pool may else end up in the new one.
// nil brings the original pool back.
func SetDefaultBufferPool(bufferPool mem.BufferPool) {
	if bufferPool == nil {
		internalmem.ReplaceDefault(nil)
		return
	}
	internalmem.ReplaceDefault(bufferPool)
}

// AcceptCompressors says, for one RPC, with which compressors the server may compress its
// messages: names of registered compressors, in the order of preference. The default is
// all that are registered. With none, or only "identity", the server may not compress. A
// name that is not registered fails the RPC.
func AcceptCompressors(names ...string) grpc.CallOption {
	return acceptCompressors{names: names}
}

// acceptCompressors is known to package grpc by its method.
type acceptCompressors struct {
	grpc.EmptyCallOption
	names []string
}

func (o acceptCompressors) AcceptCompressors() []string { return o.names }
