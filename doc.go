// SPDX-License-Identifier: Apache-2.0

// Package grpc is gRPC for Go: clients and servers that exchange messages over HTTP/2.
//
// # Clients
//
// [NewClient] returns a [ClientConn], a channel to all servers behind a target. Pass it to the client
// that protoc-gen-go-grpc generated. A ClientConn is safe for concurrent use, and a program should keep
// it: it connects when it is used, and reconnects after a failure. Give each RPC a context with a deadline.
//
// A target is "host:port", or "scheme:///name" for the resolver of that scheme: dns (the default),
// passthrough, unix, xds, or one of the program's own ([WithResolvers]). A service config
// ([WithDefaultServiceConfig]) says how RPCs are spread over servers, retried, hedged and timed out.
//
// # Servers
//
// [NewServer] returns a [Server]. Register generated services with it, then call [Server.Serve] with a
// listener. The handlers of RPCs run at the same time, each on one goroutine, which may serve another RPC
// afterwards. [Server.GracefulStop] waits for RPCs
// that are under way, [Server.Stop] does not.
//
// # Errors
//
// The error of an RPC has a code and a message, which package status reads: status.Code(err),
// status.Convert(err). A handler returns status.Error(codes.NotFound, "..."); any other error becomes
// UNKNOWN. Streams end with io.EOF.
//
// # Security
//
// A channel needs transport credentials: credentials.NewTLS of package credentials, or
// insecure.NewCredentials of package credentials/insecure. [Creds] sets those of a server.
//
// # Around RPCs
//
// Interceptors ([ChainUnaryInterceptor], [WithChainUnaryInterceptor] and those for streams) run around
// each RPC. Stats handlers ([StatsHandler], [WithStatsHandler]) are told of its events. Metadata
// (package metadata) goes with it.
//
// # Idle connections
//
// A TCP, unix or TLS connection on which nothing arrives holds no buffer and no goroutine; behind a wrapper
// it may need both. Packages experimental/footprint, which tells of those, experimental/streams and
// experimental/oneport have more about that.
//
// The examples below are a tour. ARCHITECTURE.md is a map for those who change this module.
package grpc // import "google.golang.org/grpc"
