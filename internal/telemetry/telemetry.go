// SPDX-License-Identifier: Apache-2.0

// Package telemetry is the seam between package grpc and the plugins that measure and
// trace RPCs (gRFC A66, A72): one typed value for each call, attempt and served call, to
// which package grpc tells what happens. Unlike the events of package stats, nothing is
// built that a plugin may not look at, so that what is told costs no allocation.
//
// A channel or a server without a plugin has none of these values.
package telemetry

import (
	"context"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/metadata"
)

// Client is a plugin of channels.
type Client interface {
	// Channel returns what looks at the RPCs of a channel. The target is the channel's in
	// its canonical form, with the scheme.
	Channel(target string) Channel
}

// Channel is a plugin's value for a channel. It is safe for concurrent use.
type Channel interface {
	// BeginCall is told that the program begins an RPC: where the plugin stands among the
	// channel's interceptors, before any name is resolved or message encoded. The RPC goes
	// on with the context it returns.
	BeginCall(ctx context.Context, info CallInfo) (context.Context, Call)
	// BeginAttempt is told that an attempt begins, before a connection is picked for it.
	// ctx derives from what BeginCall returned, unless an interceptor has replaced it, or
	// the RPC is the channel's own. The attempt goes on with the context it returns, whose
	// outgoing metadata is sent. A nil Attempt hears nothing.
	BeginAttempt(ctx context.Context, info AttemptInfo) (context.Context, Attempt)
	// Recorder receives the metrics that are not about one RPC; nil for none.
	Recorder() estats.MetricsRecorder
}

// CallInfo says which RPC begins.
type CallInfo struct {
	// Method is "/package.Service/Method".
	Method string
	// Static says that the method's name comes from the source of the program.
	Static bool
}

// Call is an RPC of a client, with all its attempts.
type Call interface {
	// End is told the status that the RPC ends with, nil for a success. It may be called
	// more than once; the first call counts.
	End(err error)
}

// AttemptInfo says what is tried.
type AttemptInfo struct {
	// Method is "/package.Service/Method".
	Method string
	// Previous is the number of attempts before this one, without transparent retries.
	Previous int
	// Transparent says that the attempt repeats one that no server application saw.
	Transparent bool
	// Hedge says that the attempt runs beside others (gRFC A6).
	Hedge bool
	// Resolved says that the RPC had to wait for the resolver's first answer. It is true
	// for the first attempt only.
	Resolved bool
}

// Message says how large a message is, in bytes without any framing.
type Message struct {
	// Length is the size without compression.
	Length int
	// Compressed is the size as it travels: Length for a message that is not compressed.
	Compressed int
}

// Attempt is one try of an RPC of a client. Sent and Received may be called at the same
// time, by two goroutines; each of them is called by one at a time. A late Sent may come
// after End.
type Attempt interface {
	// Picked is told that the attempt has got a connection, if it had to wait for one.
	Picked()
	// Sent and Received are told of each message.
	Sent(Message)
	Received(Message)
	// End is told the attempt's status, nil for a success, once. The response is nil if
	// the attempt never came as far as a connection.
	End(err error, response Response)
}

// Response is what a server has sent beside messages. It may be asked during End only.
type Response interface {
	// GotHeaders tells whether response headers have come. Header waits for them.
	GotHeaders() bool
	// Header and Trailer return copies.
	Header() metadata.MD
	Trailer() metadata.MD
}

// Server is a plugin of servers. It is safe for concurrent use.
type Server interface {
	// BeginServed is told that an RPC has come, before its handler runs, with the context
	// of the RPC, in which its metadata is, and grpc.SetHeader finds it. The handler gets
	// a context that derives from the one it returns.
	BeginServed(ctx context.Context, info ServedInfo) (context.Context, Served)
	// Recorder receives the metrics that are not about one RPC; nil for none.
	Recorder() estats.MetricsRecorder
}

// ServedInfo says which RPC has come.
type ServedInfo struct {
	// Method is "/package.Service/Method" as the client has it.
	Method string
	// Registered says that the server has the method: its name is not just any.
	Registered bool
}

// Served is an RPC of a server. Sent and Received may be called at the same time, and
// late ones after End.
type Served interface {
	// Metadata is what the plugin wants sent, keys and values: with the response headers,
	// or with the trailers of a response without headers, so that a failure stays one that
	// a client may retry. It is asked for once.
	Metadata() []string
	// Sent and Received are told of each message.
	Sent(Message)
	Received(Message)
	// End is told what the RPC ended with, once: nil, or an error with a status.
	End(err error)
}
