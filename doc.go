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
// holds what stats handlers are told by, observer_trace.go what a build tag adds.
// rpc_errors.go is the older way to read errors, and
// what errors of programs become; log.go the logger, version.go the version,
// siblings.go what modules beside this one reach through package internal.
//
// The client: clientconn.go is a channel as programs see it, newclient.go its beginning and
// dial.go the older one, dialoptions.go what can be set, with backoff.go,
// dialoptions_shared.go what channels have of that together, service_config.go the names of
// service configs. What lies between a target and a connection is package
// internal/channel, for which channel_owner.go does what needs messages. call.go is a unary
// RPC, client_stream.go a streaming one, with client_new_stream.go and client_open.go for
// its beginning, client_context.go for its context and client_streams.go for all that are
// open, call_options.go what can be set for each. client_call.go is what both have in common: what the RPC goes by, and the attempts
// that it consists of (attempt.go), which package internal/channel carries out and package
// internal/retry asks for. hedged.go makes several at once as package internal/hedge says, hedged_stream.go of a
// stream,
// and intercept.go lets the resolver's interceptors in. client_watch.go and
// client_telemetry.go tell of them. client_handover.go is for streams that nobody waits for
// (package experimental/streams), as server_handover.go is on a server.
//
// The server: server.go is its beginning and server_stop.go its end,
// server_options.go what can be set, server_conn.go its connections, with
// server_listener.go for where they come from, server_connset.go for all that are open,
// server_router.go for what a listener says of their RPCs, and server_http.go for the calls
// behind net/http. server_call.go is an RPC as the transport has it, and server_watch.go
// tells of it. server_rpc.go finds its method and has it served: in server_unary.go, or in
// server_streaming.go, whose handler talks to server_stream.go; server_message.go is what both need
// of messages. server_labels.go labels the handler's goroutine, server_handlers.go counts
// those that run, and server_context.go is what a handler can do through its context.
//
// Tests of one file have its name. The others, client_*_test.go and server_*_test.go, are
// of a whole channel or server and named after what they look at.
package grpc // import "google.golang.org/grpc"
