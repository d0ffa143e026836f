// SPDX-License-Identifier: Apache-2.0

// Command connect is a worker of the benchmarks with connect-go, client and server, speaking
// the gRPC protocol over HTTP/2 as its documentation sets it up: see `bench peers`.
package main

import (
	"net"

	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/peer"
	"google.golang.org/grpc/benchmark/internal/service"
)

func main() { peer.Main(implementation{}) }

// implementation is connect-go.
type implementation struct{}

func (implementation) Serve(l net.Listener, order ops.Serve, b *service.Bench) error {
	return serve(l, order, b)
}

func (implementation) Dial(addr string, order ops.Open) (peer.Client, error) {
	return dial(addr, order)
}
