// SPDX-License-Identifier: Apache-2.0

// Command kitex is a worker of the benchmarks with Kitex, client and server, with protobuf over
// its gRPC transport: see `bench peers`. Its servers have no TLS.
package main

import "google.golang.org/grpc/benchmark/internal/peer"

func main() { peer.Main(implementation) }

var implementation = peer.Implementation{Serve: serve, Dial: dial}
