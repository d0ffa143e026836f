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
// Both sides:
//
//   - stream.go, interceptor.go and service_desc.go have the types that generated code and
//     interceptors see.
//   - message.go turns messages into bytes and back; codec.go and compressor.go have what a
//     program can choose there; prepared_msg.go is a message that is sent often.
//   - observer.go is what stats handlers are told by; observer_trace.go is what a build tag
//     adds to it.
//   - rpc_errors.go is the older way to read errors, and what errors of programs become.
//   - log.go has the logger, version.go the version, siblings.go what modules beside this one
//     reach through package internal.
//
// The client. What lies between a target and a connection is package internal/channel:
//
//   - newclient.go makes a channel, dial.go does it the older way; dialoptions.go has what can
//     be set, with backoff.go; dialoptions_shared.go has what channels hold of that together.
//   - client_core.go has the types that name each other: the channel, what its options come to,
//     an RPC, a stream. clientconn.go is the channel as programs see it; service_config.go has
//     the names of service configs; channel_owner.go does for package internal/channel what
//     needs messages.
//   - client_call.go is what every RPC has: its configuration, and the attempts that it consists
//     of (attempt.go). Package internal/channel carries an attempt out, internal/retry says
//     whether there is another one. call_options.go has what can be set for an RPC.
//   - call.go is a unary RPC. client_stream.go is a streaming one; client_new_stream.go and
//     client_open.go are its beginning, client_context.go its context, client_streams.go the
//     list of those that are open.
//   - client_kept.go keeps what an RPC has sent, for other attempts.
//   - hedged.go makes several attempts at once, as package internal/hedge says;
//     hedged_stream.go does so for a stream.
//   - intercept.go runs the interceptor that a resolver chose for an RPC; client_watch.go and
//     client_telemetry.go tell stats handlers, plugins and the binary log of RPCs.
//   - client_handover.go is for streams that nobody waits for (package experimental/streams).
//
// The server:
//
//   - server.go is its beginning and server_stop.go its end; server_options.go has what can be
//     set.
//   - server_listener.go is where connections come from, server_conn.go is one of them,
//     server_connset.go has all that are open; server_router.go is what a listener says of
//     their RPCs; server_http.go serves behind net/http.
//   - server_call.go is an RPC as the transport has it. server_rpc.go finds its method and has
//     it served: in server_unary.go, or in server_streaming.go, whose handler talks to
//     server_stream.go; server_message.go has what both need of messages.
//   - server_watch.go tells stats handlers, plugins and the binary log of RPCs; server_labels.go
//     labels the handler's goroutine; server_handlers.go counts the handlers that run;
//     server_context.go is what a handler can do through its context.
//   - server_control.go, server_limits.go and server_recover.go are for options of packages
//     experimental/servercontrol, experimental/limits and experimental.
//   - server_handover.go is for streams that nobody waits for.
//
// A test is named after the file that it tests, with what it looks at behind that where one
// file has several: clientconn_*_test.go and server_*_test.go are of a whole channel or server,
// grpc_*_test.go of the package as a whole.
package grpc // import "google.golang.org/grpc"
