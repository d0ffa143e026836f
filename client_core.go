// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync"

	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
)

// ClientConn is a channel: a target, and the connections to the servers behind it that
// its balancer wants. It is made by [NewClient] and has to be closed. It is safe for
// concurrent use.
//
// A channel begins idle. The first RPC, or Connect, has its target resolved and
// connections made.
type ClientConn struct {
	opts    *channelOptions // immutable
	channel channel.Channel
	streams streamList
	unwatch func() // ends the reports of package footprint to the metrics recorders; nil: there are none
}

// channelOptions is what a channel keeps of its options. It is not changed once a
// channel has it: others may have the same one, see shareOptions.
type channelOptions struct {
	channel.Options

	userAgent    string // with a space at its end; "": none
	callOptions  []CallOption
	compressor   Compressor
	decompressor Decompressor
	maxAttempts  int
	noRetry      bool

	telemetry telemetry.Channels
	// binaryLogger logs RPCs beside what the environment says; nil for none.
	binaryLogger binarylog.Logger
	// The interceptors, a UnaryInvoker and a Streamer; nil without.
	invoker  func(ctx context.Context, method string, req, reply any, cc *ClientConn, opts ...CallOption) error
	streamer func(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error)
}

// streamList holds the streams that are open, so that closing the channel ends them.
type streamList struct {
	mu     sync.Mutex
	first  *clientStream
	closed bool
}

// clientCall is what all attempts of an RPC have in common.
type clientCall struct {
	cc     *ClientConn
	ctx    context.Context // with the deadline of the service config
	cancel context.CancelFunc
	desc   *StreamDesc
	opts   []CallOption
	fixed  *channel.Link // the connection of an RPC that must use this one; not retried

	info   callInfo
	writer messageWriter
	retry  retry.State
	// hedging is how the RPC may be sent several times at once; nil: not at all.
	hedging *serviceconfig.HedgingPolicy
	clientWatch

	call     *transport.Call // of the present attempt; nil once there will be no other
	onCommit func()          // the Selector's callback, until it was called; nil for none
	waited   bool            // for the resolver's first answer
	began    bool            // it is counted, and keeps the channel from going idle
	beside   bool            // it is a hedge: other attempts of the RPC began before it (gRFC A6)
	again    retry.Verdict   // why there is another attempt; zero in the first
}

// clientStream is a streaming RPC. Until it is committed to an attempt it keeps what was
// sent, to send it again.
//
// mu may be held for long, while a retry waits or begins; the end of ctx ends that. It is
// taken before the transport's locks.
type clientStream struct {
	clientCall

	own       streamContext // what clientCall.ctx is
	stopWatch func() bool   // keeps contextDone from being called; nil if own.parent never ends
	hedges    streamHedges  // immutable; nil: attempts are made in turn

	mu        sync.Mutex
	attempt   *attempt
	sentLast  bool // owned by the sender
	sentFirst bool // owned by the sender: a message was given to SendMsg
	last      lastAttempt
	finished  bool
	replay    retry.Replay[sentMessage]
	// lost is how the RPC ended, if that was in place of another attempt.
	lost    error
	failed  error // what it was finished with; nil for success
	context *clientContext

	next, prev *clientStream // in the channel's list, whose lock guards them
}

// lastAttempt says that a stream makes no other attempt, which the one who uses it is then told
// without the lock.
type lastAttempt struct {
	sends    bool // owned by the sender
	receives bool // owned by the receiver
}

// streamHedges are the attempts of a stream that is hedged, until one counts: hedged_stream.go.
type streamHedges interface {
	// await returns when there is an attempt that counts, or with the error that the RPC ended
	// with.
	await() error
	// send and closeSend send to all attempts. They return false, and take nothing, if there
	// is an attempt that counts.
	send(msg any, out outMessage) bool
	closeSend() bool
	// endLocked ends the race, and waits for its goroutines. mu is free while it waits.
	endLocked()
}

// sentMessage is a message kept for another attempt. It holds a reference of its own.
type sentMessage struct {
	out outMessage
	msg any
	run *sentRun // in place of these, several small ones; mostly nil
}

// sentRun is small messages that are kept together.
type sentRun struct {
	retry.Run
	msgs []any // what was encoded, for stats handlers; empty if there are none
}
