// SPDX-License-Identifier: Apache-2.0

// Package ops holds what the programs that measure and their workers say to each other.
// It knows nothing of gRPC, so that the programs build whatever they measure.
package ops

import (
	"time"

	"google.golang.org/grpc/benchmark/internal/hist"
	"google.golang.org/grpc/benchmark/internal/sample"
)

// The operations of a worker. Arguments and results are named behind each.
const (
	OpServe    = "serve"    // Serve, Served: become a server
	OpOpen     = "open"     // Open, Opened: connect to one
	OpCallAll  = "call-all" // CallAll, Answered: call on every connection
	OpPublish  = "publish"  // Publish, Published: send to all open streams
	OpSettle   = "settle"   // Nothing, sample.Memory: collect garbage, then measure memory
	OpResident = "resident" // Nothing, sample.Memory: measure memory as it is, with its garbage
	OpCounters = "counters" // Nothing, sample.Counters: what was used and done so far
	OpLoad     = "load"     // Load, Nothing: begin to call as fast, or as often, as ordered
	OpWindow   = "window"   // Window, Measured: measure that for a time, then end it
	OpSoak     = "soak"     // Soak, Soaked: come and go, call, break off, at random
	OpProfile  = "profile"  // Profile, Nothing: begin to profile
	OpFinish   = "finish"   // Nothing, Nothing: write the profiles that began
)

// Nothing is the argument or result of operations without one.
type Nothing struct{}

// What is spoken over a connection.
const (
	GRPC = "grpc"
	Raw  = "raw" // no protocol: bytes of an agreed number, as a floor
	// Epoll is Raw with a server that waits for all connections with one goroutine: plain TCP,
	// on Linux, and PingPong alone.
	Epoll = "epoll"
	// Pings is HTTP/2, of which clients speak the least: the server is one of gRPC, which lets
	// them ping as often as they like. Plain TCP.
	Pings = "pings"
	Bare  = "bare" // the least that carries calls of many callers: see package bare
)

// Network names of Serve and Open.
const (
	TCP  = "tcp"
	Unix = "unix"
)

// Security names of Serve and Open.
const (
	Insecure = "insecure"
	TLS      = "tls"
	// ALTS without gRPC is AES-128-GCM with a copy on either side: what ALTS does at least.
	ALTS = "alts"
)

// Link says how the two sides are connected.
type Link struct {
	Protocol string
	Network  string
	Security string
	// Metrics has both sides measure RPCs with OpenTelemetry.
	Metrics bool
	// Wrap is what both sides put around their connections, Exact for nothing.
	Wrap string
}

// What programs put around their connections.
const (
	Exact  = ""
	Embeds = "embed"
	Meters = "metered"
	Counts = "counted" // a meter that says so
	OwnTLS = "tlsconn" // TLS of the program's own
)

// Serve makes the worker a server.
type Serve struct {
	Link
	// Addresses is how many loopback addresses to listen on: one address as destination
	// carries about 28,000 connections.
	Addresses int
	// Host is the address to listen on in their place, unless it is empty.
	Host string
	// Delay, when it is not 0, is how long bytes take to the server, and back. TCP only.
	Delay time.Duration
	// Handshaker is the address of the handshaker service, under ALTS.
	Handshaker string
	// Cert and Key are the server's certificate and its key, as PEM, under TLS.
	Cert, Key string
}

// Served says how to reach a server.
type Served struct {
	Targets []string
	// RootPEM is the certificate to trust, under TLS.
	RootPEM string
	// Handshaker is the address of the handshaker service, under ALTS.
	Handshaker string
	// Key is that of raw connections, under ALTS.
	Key []byte
}

// Open opens connections, a channel each, and leaves them idle.
type Open struct {
	Link
	Served
	Connections int
	// Calls is how many calls each connection makes, MessageSize how large their requests
	// and responses are.
	Calls       int
	MessageSize int
	// Connect waits until a connection stands, also without a call.
	Connect bool
	// Watch leaves a stream open on each connection, or as many as Streams says, if that is
	// not 0.
	Watch   bool
	Streams int
	// Stall, when it is not 0, opens a stream on each connection on which the server sends
	// messages of that size, and never reads them.
	Stall int
}

// Watches is how many streams are left open on each connection.
func (o Open) Watches() int {
	if !o.Watch {
		return 0
	}
	return max(o.Streams, 1)
}

// Opened is what came of Open.
type Opened struct {
	Connections int // in all, with those that were open before
	Took        time.Duration
}

// CallAll calls once on every open connection.
type CallAll struct {
	// Callers is how many calls are on their way at the same time.
	Callers int
	// Publish lets the server also send on every open stream, which is awaited.
	Publish bool
}

// Answered is what came of CallAll.
type Answered struct {
	Calls   int
	Events  int // that arrived on open streams
	Latency hist.Summary
}

// Publish has the server send a state of Size bytes on every open stream, and awaits it there.
type Publish struct{ Size int }

// Published is what came of Publish.
type Published struct {
	Events int // that arrived
	Took   time.Duration
}

// Kinds of load.
const (
	Unary    = "unary"     // Echo
	Chat     = "chat"      // ping-pong on a stream for each caller
	Pull     = "pull"      // messages from the server, a stream for each caller
	Push     = "push"      // messages to the server, a stream for each caller
	PingPong = "ping-pong" // over raw connections, one for each caller
	Ping     = "ping"      // of HTTP/2, over connections of Pings
	Stream   = "stream"    // from the server over raw connections, one for each caller
)

// Load is work for the open connections, which callers share evenly.
type Load struct {
	Kind    string
	Callers int
	Size    int // of a message, in bytes
	// Rate is how many calls begin a second whether or not earlier ones ended; latency
	// then counts from when a call should have begun. With 0, each caller begins a call
	// when its last one ended. Unary only.
	Rate float64
	// Every, when it is not 0, is how often each connection makes one call, evenly spread
	// over that time or, with Bursts, all at once; as many as there are Callers are on their
	// way at the same time. Unary, PingPong, and Ping.
	Every  time.Duration
	Bursts bool
	// Beside, when it is not 0, is how large the messages are that the server sends
	// meanwhile, on a stream of the first connection. They are not counted.
	Beside int
	// Own gives each message of a raw stream memory of its own, as gRPC does.
	Own    bool
	Warmup time.Duration
}

// Window measures a load for a time.
type Window struct{ Duration time.Duration }

// Measured is what a window saw.
type Measured struct {
	Calls   uint64
	Took    time.Duration
	Latency hist.Summary
	// Used is what the client used in that time.
	Used sample.Counters
}

// Soak lets clients come and go at random for a time.
type Soak struct {
	Link
	Served
	Duration time.Duration
	Workers  int // clients at the same time
}

// Soaked is what came of Soak.
type Soaked struct {
	Channels, Calls uint64
	Failed          uint64 // calls of channels that were cut off, mostly
	Cuts            int64
	// Odd is how many errors nothing accounts for; OddSamples are the first of them.
	Odd        int
	OddSamples []string
}

// Profile names the files profiles go to; those without a name are not made.
type Profile struct {
	CPU    string
	Allocs string
}
