// SPDX-License-Identifier: Apache-2.0

// Command kitex is a worker of the benchmarks with Kitex, client and server, with protobuf over
// its gRPC transport: see `bench peers`. Its servers have no TLS.
package main

import (
	"net"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/peer"
	"google.golang.org/grpc/benchmark/internal/service"
)

func main() { peer.Main(implementation{}) }

// implementation is Kitex.
type implementation struct{}

func (implementation) Serve(l net.Listener, order ops.Serve, b *service.Bench) error {
	return serve(l, order, b)
}

func (implementation) Dial(addr string, order ops.Open) (peer.Client, error) {
	return dial(addr, order)
}
