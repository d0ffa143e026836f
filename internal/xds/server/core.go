// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
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

// Options are the options of Listen.
type Options struct {
	Client *xdsclient.Client
	// ModeChanged is called when the server begins to serve, stops serving, or has another
	// reason not to serve. Calls come in order, one at a time. err says why the server does not
	// serve. If ModeChanged is nil, the Listener logs the changes.
	ModeChanged func(addr net.Addr, mode connectivity.ServingMode, err error)
	// DrainGrace is how long RPCs on a drained connection may continue; 0 means
	// 10 minutes.
	DrainGrace time.Duration
}

// Listener is a net.Listener that accepts connections as the control plane configures. Its owner
// must close it.
type Listener struct {
	net.Listener
	options Options
	address netip.AddrPort
	name    string // of the Listener resource
	node    string // the prefix of error messages, which names the xDS node
	memory  httpfilter.Memory
	told    serializer.Serializer // calls what may be the program's: ModeChanged, loggers, Addr

	mu      sync.Mutex // guards what follows
	closed  bool
	cancel  func() // ends the watch of the Listener resource
	mode    connectivity.ServingMode
	current *edition // nil while nothing is served
	next    *edition // waits for its RouteConfigurations; nil if there is none
	routes  map[string]*routes
	broken  bool // a warning about routes was logged
}

// edition is one version of the Listener resource in use. The Listener's mu guards the fields
// that change.
type edition struct {
	listener *Listener
	config   *resource.ServerListener
	chains   map[*resource.FilterChain]*chain

	conns   map[*conn]struct{} // those that are not closed yet
	shaking int                // the number of conns whose handshake is not done
	retired bool
	grace   *time.Timer // closes the connections that are left; nil until retireLocked sets it
}

// chain is a filter chain of an edition.
type chain struct {
	edition *edition
	tls     *handshake.Server // nil means the fallback credentials
	router  *router
}

// conn is an accepted connection that knows its filter chain as soon as it is admitted. It adds nothing to Read and Write,
// so code such as package readyreader may read and write the embedded net.Conn directly.
type conn struct {
	net.Conn
	listener *Listener
	limit    atomic.Pointer[limit] // nil unless a deadline is set, as during the handshake
	gone     atomic.Bool           // Close was called

	// The Listener's mu guards these fields. The goroutine that admits the connection sets chain, and
	// reads it without mu.
	chain   *chain // nil until then
	shaking bool
	drain   func() // nil until the server serves the connection; see rpcconfig.Conn
}

// limit is how long a handshake may take: until a deadline, or until the connection is closed.
type limit struct {
	ctx    context.Context //nolint:containedctx // XDSHandshake returns it
	cancel context.CancelFunc
}
