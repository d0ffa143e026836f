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
//
// # Where RFC 9113 says otherwise
//
// The rules of RFC 9113 and RFC 7541 that a peer can break are kept, and tested by
// section: those of frames and streams in violation_test.go of package h2, for both roles (the
// preface and its SETTINGS, 3.4, in closing_test.go there), those of field blocks in
// decoder_test.go of package hpack, those of requests and responses in request_test.go and
// response_test.go. It is otherwise with these:
//
//	section  what is done instead                          why
//	5.1      frames on closed streams are discarded        the peer may not have known yet; servers end the
//	         by clients, and by servers within a range      connection for HEADERS on what the client ended
//	         of ids where they cut streams off
//	6.3      PRIORITY of a wrong length on an idle stream   a stream that is idle can't be reset
//	         ends the connection
//	6.5.3    surplus acknowledgements of SETTINGS are      what shares a port, such as cmux, sends SETTINGS
//	         ignored, within the budget of package h2       of its own before the server does
//	8.2.1    white space at either end of what the          clients send "Bearer " without a token, servers
//	         application fills passes: metadata,            messages that end in a space; PROTOCOL-HTTP2 lets
//	         user-agent, grpc-message                       it pass, and the values go nowhere else
//	8.3.1    an empty :authority is accepted                connections in memory have no name
//	8.3.1    a Host that differs from :authority is         the client learns what is wrong
//	         answered with 400 rather than RST_STREAM
//
// Stricter than the published module, as the RFC asks: te other than "trailers",
// connection-specific fields, content-length that contradicts DATA, missing :scheme, empty
// :path, pseudo-headers in trailers. Stricter than RFC 9113: a stream that depends on
// itself is an error, as it was in RFC 7540 (5.3.1); SETTINGS with more entries than there
// can be, and floods of what is allowed once, are ENHANCE_YOUR_CALM (10.5).
package transport
