// SPDX-License-Identifier: Apache-2.0

// Command connect is a worker of the benchmarks with connect-go, client and server, speaking
// the gRPC protocol over HTTP/2 as its documentation sets it up: see `bench peers`.
package main

import "google.golang.org/grpc/benchmark/internal/peer"

func main() { peer.Main(implementation) }

var implementation = peer.Implementation{Serve: serve, Dial: dial}
