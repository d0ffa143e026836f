// SPDX-License-Identifier: Apache-2.0

// Package grpcwire holds the rules that gRPC adds on top of HTTP/2
// (grpc/grpc doc/PROTOCOL-HTTP2.md), as functions over bytes and strings: header
// names, metadata, timeouts, status trailers, content types, encodings and the
// Length-Prefixed-Message.
//
// Nothing here does I/O, takes a lock that can be held for long, starts a goroutine
// or reads a clock. Functions are safe for concurrent use; an [Assembler] belongs to
// one goroutine at a time. Parsers take strings and byte slices alike and keep no
// reference to their input unless their comment says so.
package grpcwire

// Text is what a received header field may be held in.
type Text interface{ ~string | ~[]byte }
