// SPDX-License-Identifier: Apache-2.0

// Package grpc is gRPC for Go: clients and servers that exchange messages over
// HTTP/2.
//
// A client makes a [ClientConn] with [NewClient] and hands it to the code that
// protoc-gen-go-grpc generated. A server makes a [Server] with [NewServer],
// registers generated services with it, and calls [Server.Serve].
//
// Errors of RPCs carry a code and a message, which package status reads.
//
// # The files
//
// Shared by both sides: stream.go, interceptor.go and service_desc.go hold the
// types that generated code and interceptors see; message.go turns messages
// into bytes and back, with codec.go and compressor.go for what the application
// can choose there, and prepared_msg.go for a message that is sent often; observer.go
// holds what stats handlers are told by. rpc_errors.go is the older way to read errors,
// version.go the version, siblings.go what modules beside this one reach through package
// internal.
//
// The client: clientconn.go is a channel as programs see it, dial.go the older way to
// begin it, dialoptions.go what can be set, with backoff.go, dialoptions_shared.go what
// channels have of that together, service_config.go the names of service configs. What
// lies between a target and a connection is package internal/channel, for which
// channel_owner.go does what needs messages. call.go is a unary RPC, client_stream.go a
// streaming one, with client_context.go for its context and client_streams.go for all
// that are open, call_options.go what can be set for each; attempt.go is what both
// consist of, retry.go asks package internal/retry for another one, hedged.go makes
// several at once as package internal/hedge says, and intercept.go lets the resolver's
// interceptors in. attempt_observer.go, client_log.go and client_telemetry.go tell of
// them.
//
// The server: server.go is its beginning and server_stop.go its end,
// server_options.go what can be set, server_conn.go the listeners and
// connections, with server_connset.go for all that are open, server_router.go what a
// listener says of their RPCs, server_http.go the calls behind net/http. server_rpc.go
// finds and runs the handler of an RPC, server_labels.go labels its goroutine, server_observer.go does so where somebody watches,
// server_stream.go is what a streaming handler talks to, and server_context.go what a
// handler can do through its context.
//
// Tests of one file have its name. The others, client_*_test.go and server_*_test.go, are
// of a whole channel or server and named after what they look at.
package grpc // import "google.golang.org/grpc"
