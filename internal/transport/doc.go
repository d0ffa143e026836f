// SPDX-License-Identifier: Apache-2.0

// Package transport carries gRPC calls over connections: it is the part of
// HTTP/2 that knows of gRPC. Below it, package h2 runs a connection and knows
// nothing of calls; above it, the root package knows channels, services and
// codecs, and nothing of frames.
//
// [Client] and [Server] are thin: each is an [h2.Handler] that turns field
// blocks into calls and back, and its streams are [h2.Receiver]s that put
// messages together. All rules of the wire are in package grpcwire.
//
// # Who runs what
//
// A connection has at most one reader, which calls the methods that
// implement Handler and Receiver and never waits in them. Everything else is
// called by the goroutines of the RPCs. A handler of the server runs on a
// goroutine of package warm.
//
// # Locks
//
// Each stream has one lock, for what the reader hands to the RPC: messages,
// headers, the end. It is never held while a method of h2 is called, so there
// is no order between it and the connection's lock.
//
// # Buffers
//
// A received message is a [mem.Buffer] that belongs to the stream until it is
// returned by Recv, and to the caller from then on. A message to send belongs
// to the transport from the call on, also if that fails.
package transport
