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
