// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/internal/xds/handshake"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

var logger = grpclog.Component("xds")

// Options are what a Listener is made of.
type Options struct {
	Client *xdsclient.Client
	// ModeChanged is told, in order and one at a time, whether the server serves. The error
	// says why it does not. Nil: changes are logged.
	ModeChanged func(addr net.Addr, mode connectivity.ServingMode, err error)
	// DrainGrace is DefaultDrainGrace if it is 0.
	DrainGrace time.Duration
}

// Listener accepts connections as the control plane says. It has to be closed, as any.
type Listener struct {
	net.Listener
	options Options
	address netip.AddrPort
	name    string // of the resource
	node    string // stands before errors
	memory  httpfilter.Memory
	told    serializer.Serializer

	mu      sync.Mutex // guards what follows
	closed  bool
	cancel  func() // the watch of the Listener
	mode    connectivity.ServingMode
	current *edition // nil while nothing is served
	next    *edition // waits for its routes; nil if there is none
	routes  map[string]*routes
	broken  bool // a warning about routes was logged
}

// edition is what a Listener resource said, in use. The Listener's mu guards what changes.
type edition struct {
	listener *Listener
	config   *resource.ServerListener
	chains   map[*resource.FilterChain]*chain

	conns   map[*conn]struct{} // not closed yet
	shaking int                // how many of conns have their handshakes before them
	retired bool
	grace   *time.Timer // closes what is left; nil until it is retired
}

// chain is a filter chain in use.
type chain struct {
	tls    *handshake.Server // nil: the fallback credentials
	router *router
}

// conn is an accepted connection that knows its filter chain. It leaves reading and writing to
// what it embeds, and all who read or write below it, as package readyreader does, are right to.
type conn struct {
	net.Conn
	edition  *edition
	chain    *chain
	deadline atomic.Pointer[time.Time] // of the handshake

	// Guarded by the Listener's mu.
	shaking bool
	drain   func() // nil until the server serves the connection
}
