// SPDX-License-Identifier: Apache-2.0

// Package orders holds what the runner tells its workers to do, and what they answer.
// Neither needs gRPC.
package orders

import "time"

// The operations of a worker.
const (
	OpServe  = "serve"  // Serve: start a server; answers Served
	OpCall   = "call"   // Call: begin calls at a steady rate
	OpReset  = "reset"  // forget the calls so far
	OpTally  = "tally"  // answers Tally
	OpWork   = "work"   // Work: call an attacker
	OpSample = "sample" // answers Sample
	OpFresh  = "fresh"  // Call: one call on a new channel
	OpStop   = "stop"   // end the work of OpWork, and close its channels
)

// The methods of the service that the workers serve.
const (
	Service = "attack.Victim"
	Echo    = "/" + Service + "/Echo"    // unary: answers what it got
	Stuck   = "/" + Service + "/Stuck"   // unary: never answers, whatever happens to the call
	Deaf    = "/" + Service + "/Deaf"    // bidirectional: reads nothing until the call is over
	Large   = "/" + Service + "/Large"   // unary: answers with 1 MiB
	Asks    = "/" + Service + "/Asks"    // bidirectional: keeps the metadata it got until the call is over
	Sink    = "/" + Service + "/Sink"    // bidirectional: reads everything
	Pour    = "/" + Service + "/Pour"    // bidirectional: sends messages of 64 KiB without end
	Slow    = "/" + Service + "/Slow"    // unary: answers after 50 ms
	Keeps   = "/" + Service + "/Keeps"   // bidirectional: keeps a value of its metadata for ever
	Trickle = "/" + Service + "/Trickle" // bidirectional: sends messages of a byte without end
)

// Security is what connections are secured with.
type Security string

// What there is.
const (
	Plain Security = ""
	TLS   Security = "tls"
	ALTS  Security = "alts"
)

// Front is what stands in front of a server's handlers.
type Front string

// What there is.
const (
	Itself Front = ""     // grpc.Server.Serve
	HTTP   Front = "http" // net/http, with grpc.Server.ServeHTTP behind it
	// Port is a port of package oneport, which serves gRPC and HTTP. The published module
	// has none: there net/http is what programs take.
	Port Front = "port"
)

// Keep is the field of metadata of which Keeps keeps the value, and MaxKept how many of them.
const (
	Keep    = "keep"
	MaxKept = 2000
)

// Extra is what else a server serves.
type Extra string

// What there is, in victims that are built with the tag extras.
const (
	Nothing    Extra = ""
	Channelz   Extra = "channelz"
	Reflection Extra = "reflection"
	// XDS is a server of package xds, with a control plane in its own process, and CSDS.
	XDS Extra = "xds"
)

// Serve is how a server is to be started; the rest is as a program has it that sets
// nothing.
type Serve struct {
	MaxStreams uint32 // 0: no limit
	Front      Front
	Security   Security
	Handshaker string // address of the ALTS handshaker service
	Extra      Extra
	Wrapped    bool // connections are a wrapper's, which hides that they are sockets
	// Watched gives the server the options of the experimental packages, where there are those.
	Watched bool
	// HandedOver has the streams of handlers without goroutines (package streams), where there is that.
	HandedOver bool
}

// Served is where it listens.
type Served struct{ Addr string }

// Call is whom to call, Rate times a second.
type Call struct {
	Addr       string
	Security   Security
	Handshaker string
	Rate       int
	Patience   time.Duration // a call that takes longer is lost
}

// Work is what a client does with a server that attacks it.
type Work struct {
	Addr       string
	Security   Security
	Handshaker string // address of the ALTS handshaker service
	// Method says what kind of call it is, over and over: Echo with a deadline, or a
	// stream that is read (Pour), written to (Sink), only open (Deaf), or asked for its headers (Asks).
	Method   string
	Callers  int
	Channels int // 1 if it is 0
	Deadline time.Duration
	Wait     bool // for the connection to be ready
	// Target is what the channel is made for, the attacker's address if it is "". In it, in Config
	// and in a kind's environment Here stands for that address.
	Target     string
	Config     string // service config
	Vary       bool   // each call has another value in its metadata
	Wrapped    bool   // as in Serve
	HandedOver bool   // as in Serve
}

// Here stands for the attacker's address in what a client is told.
const Here = "ATTACKER"

// Tally is how the calls at a steady rate fared.
type Tally struct {
	Calls, Failed int
	P99, Max      time.Duration
	Error         string // the first
}

// Sample is what a process holds and has used.
type Sample struct {
	Heap       int64         // bytes that live after a collection
	Goroutines int           // now
	MaxGo      int           // the most since it began
	CPU        time.Duration // before what a sample itself takes
	Then       time.Duration // behind it
}
