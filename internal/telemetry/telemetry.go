// SPDX-License-Identifier: Apache-2.0

// Package telemetry is the interface between package grpc and the plugins that measure and
// trace RPCs (gRFC A66, A72). A plugin makes one value for each call, attempt and served call,
// and package grpc calls that value's methods when something happens. Unlike package stats,
// this package has no event structs, so that these calls allocate nothing.
//
// For a channel or a server without a plugin there are no such values.
package telemetry

import (
	"context"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/metadata"
)

// Client is a plugin of channels.
type Client interface {
	// Channel returns the plugin's value for a channel. target is the channel's target in
	// its canonical form, with the scheme.
	Channel(target string) Channel
}

// Channel is a plugin's value for a channel. It is safe for concurrent use.
type Channel interface {
	// BeginCall is called when the program begins an RPC, at the plugin's place among the
	// channel's interceptors, before a name is resolved or a message encoded. The RPC goes
	// on with the context that BeginCall returns.
	BeginCall(ctx context.Context, info CallInfo) (context.Context, Call)
	// BeginAttempt is called when an attempt begins, before a connection is picked for it.
	// ctx derives from the context that BeginCall returned, unless an interceptor has
	// replaced it, or the channel makes the RPC for itself. The attempt goes on with the
	// context that BeginAttempt returns, and sends its outgoing metadata. If the plugin
	// does not want to be told of this attempt, it returns a nil Attempt.
	BeginAttempt(ctx context.Context, info AttemptInfo) (context.Context, Attempt)
	// Recorder returns the recorder of metrics that are not about one RPC. It may be nil.
	Recorder() estats.MetricsRecorder
}

// CallInfo says which RPC begins.
type CallInfo struct {
	// Method is "/package.Service/Method".
	Method string
	// Static says that the method's name is a constant of the program (grpc.StaticMethod).
	Static bool
}

// Call is an RPC of a client, with all its attempts.
type Call interface {
	// End is called with the status that the RPC ends with, which is nil for a success. It
	// may be called more than once; only the first call counts.
	End(err error)
}

// AttemptInfo describes an attempt.
type AttemptInfo struct {
	// Method is "/package.Service/Method".
	Method string
	// Previous is the number of attempts before this one, without transparent retries.
	Previous int
	// Transparent says that the attempt is a transparent retry: it repeats an attempt that
	// no server application saw.
	Transparent bool
	// Hedge says that the attempt runs at the same time as others (gRFC A6).
	Hedge bool
	// Resolved says that the RPC had to wait for the resolver's first answer. It is true
	// for the first attempt only.
	Resolved bool
}

// Message says how large a message is, in bytes without any framing.
type Message struct {
	// Length is the size without compression.
	Length int
	// Compressed is the size on the wire. It equals Length if the message is not compressed.
	Compressed int
}

// Attempt is one attempt of a client's RPC. Two goroutines may call Sent and Received at the
// same time, but only one goroutine at a time calls each of them. Sent may be called after
// End.
type Attempt interface {
	// Picked is called when the attempt has got a connection, if it had to wait for one.
	Picked()
	// Sent and Received are called for each message.
	Sent(Message)
	Received(Message)
	// End is called once, with the attempt's status, which is nil for a success. The
	// response is nil if the attempt never got a connection.
	End(err error, response Response)
}

// Response is what a server has sent apart from messages. Its methods may be called during
// End only.
type Response interface {
	// GotHeaders reports whether response headers have come. Header waits for them.
	GotHeaders() bool
	// Header and Trailer return copies.
	Header() metadata.MD
	Trailer() metadata.MD
}

// Server is a plugin of servers. It is safe for concurrent use.
type Server interface {
	// BeginServed is called when an RPC has come, before its handler runs. ctx is the RPC's
	// context: it has the incoming metadata, and grpc.SetHeader works with it. The handler
	// gets a context that derives from the one that BeginServed returns.
	BeginServed(ctx context.Context, info ServedInfo) (context.Context, Served)
	// Recorder returns the recorder of metrics that are not about one RPC. It may be nil.
	Recorder() estats.MetricsRecorder
}

// ServedInfo says which RPC has come.
type ServedInfo struct {
	// Method is "/package.Service/Method" as the client sent it.
	Method string
	// Registered says that the server has the method. Otherwise the client may have made up
	// the name.
	Registered bool
}

// Served is a server's RPC. Sent and Received may be called at the same time, and also after
// End.
type Served interface {
	// Metadata returns keys and values that the server is to send with the response headers.
	// A response without headers gets them with its trailers and stays without headers, so
	// that a client may still retry it. Each call returns the same.
	Metadata() []string
	// Sent and Received are called for each message.
	Sent(Message)
	Received(Message)
	// End is called once, with the RPC's outcome: nil, or an error with a status.
	End(err error)
}
