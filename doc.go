// SPDX-License-Identifier: Apache-2.0

// Package grpc is gRPC for Go: clients and servers that exchange messages over HTTP/2.
//
// # Clients
//
// [NewClient] returns a [ClientConn], a channel to all servers behind a target. Hand it to
// the client that protoc-gen-go-grpc generated. It is safe for concurrent use, and meant to be kept: it
// connects when it is used, and again after a failure. Give each RPC a context with a deadline.
//
// A target is "host:port", or "scheme:///name" for the resolver of that scheme: dns (the default),
// passthrough, unix, xds, or one of the program's ([WithResolvers]). How RPCs are spread over servers,
// retried, hedged and timed out is said by a service config ([WithDefaultServiceConfig]).
//
// # Servers
//
// [NewServer] returns a [Server]. Register generated services with it, then call [Server.Serve] with a
// listener. Each RPC has its handler run on a goroutine of its own. [Server.GracefulStop] lets those
// that run end, [Server.Stop] does not.
//
// # Errors
//
// The error of an RPC has a code and a message, which package status reads: status.Code(err),
// status.Convert(err). A handler returns status.Error(codes.NotFound, "..."); any other error becomes
// UNKNOWN. Streams end with io.EOF.
//
// # Security
//
// Transport credentials are needed: credentials.NewTLS of package credentials, or insecure.NewCredentials
// of package credentials/insecure. [Creds] sets a server's.
//
// # Around RPCs
//
// Interceptors ([ChainUnaryInterceptor], [WithChainUnaryInterceptor] and those for streams) run around
// each RPC. Stats handlers ([StatsHandler], [WithStatsHandler]) are told of its events. Metadata
// (package metadata) goes with it.
//
// # Idle connections
//
// A connection on which nothing arrives holds no buffer and no goroutine. Packages
// experimental/footprint, experimental/streams and experimental/oneport have more about that.
//
// The examples below are a tour. For those who change this module, ARCHITECTURE.md is its map.
package grpc // import "google.golang.org/grpc"
