// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/healthcheck"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// This file has the types that refer to each other. The methods of each are in the file of its name
// and in the files whose names begin with that name.

// Channel is the part of a grpc.ClientConn that knows nothing of messages. [Channel.Init] makes a
// zero Channel usable, and its owner must close it. A Channel is safe for concurrent use.
//
// A channel begins idle. The first RPC, or Connect, makes it resolve its target and connect.
//
// Locks: see the package comment. A balancer may call the channel with locks of its own
// held, so the channel does not call the balancer from the methods that a balancer uses.
type Channel struct {
	// Immutable.
	Target
	opts  *Options
	owner Owner
	node  *channelz.Node

	// transport is the configuration of new connections. pingLess replaces it when a server
	// complains of too many pings.
	transport atomic.Pointer[transport.ClientConfig]
	config    atomic.Pointer[config] // nil before the resolver's first answer
	scale     atomic.Int32           // how many connections a subchannel may have; see scaling.go

	state stateWatch
	picks pickerGate
	idle  idleness
	// leaving tells when what the channel had before it became idle is closed. enterIdle and leaveIdle use it, and, once there are no more of
	// these, Close.
	leaving partsClosed

	mu       sync.Mutex
	closed   bool
	resolver *resolverWrapper // nil in idle mode
	balancer *balancerWrapper // nil in idle mode
	subConns []*Subchannel
	links    []*Link       // all open connections, including those that are draining
	connErr  error         // why the last attempt to connect failed
	resolved bool          // the resolver has answered, or Close was called
	answer   chan struct{} // closed when resolved is set; nil while nobody waits for it
}

// Link is one connection of a subchannel, from the attempt to connect until the connection is
// closed. While RPCs use it, it may outlive its subchannel.
type Link struct {
	// Immutable once the link is used.
	sub    *Subchannel
	addr   *resolver.Address // nobody changes it
	client *transport.Client
	// bundled are the per-RPC credentials of the bundle that the transport credentials came from;
	// nil: none.
	bundled *credentials.PerRPCCredentials

	// These are for a subchannel that may have several connections. The subchannel's lock guards
	// rpcs.
	rpcs   int          // how many RPCs use the connection
	places atomic.Int64 // 1 more than the number of RPCs that the server takes at a time; 0: any number

	counted atomic.Bool // it is among the open connections of the metrics

	mu     sync.Mutex
	unfit  bool // it takes no new RPCs
	closed bool
	listed bool               // it is among the channel's links
	left   bool               // a GOAWAY came
	goAway uint32             // the error code of the last one
	told   uint8              // how many of them the log was told, up to maxTold
	reason string             // why it was lost, for metrics: the first reason that became known
	ctx    context.Context    // the stats handlers'; nil without handlers, and once claimEnd was called
	end    context.CancelFunc // ends ctx
	socket *channelz.Socket
}

// Subchannel has at most one connection, to one of its addresses, unless it has a scale, which
// allows several. It has a goroutine only while it connects or watches its server's health.
//
// Its states (connectivity-semantics-and-api.md): Idle until Connect; Connecting; Ready until the
// connection is lost or the server sends GOAWAY, then Idle; TransientFailure for as long as the
// back-off takes, then Idle; Shutdown.
type Subchannel struct {
	internal.SubConnSeal

	// Immutable.
	ch       *Channel
	owner    *balancerWrapper
	listener func(balancer.SubConnState) // nil: the policy's UpdateSubConnState is called instead
	node     *channelz.Node

	// ready is the connection that RPCs use; nil unless the state is Ready.
	ready atomic.Pointer[Link]
	// scale is nil until the subchannel may have more than one connection.
	scale atomic.Pointer[scale]

	creds       *subConnCreds // immutable; nil: the channel's
	young       bool          // if the current connection is lost now, that counts as a failed attempt; mu guards it
	wantsHealth bool          // immutable: the state follows the server's health
	unscale     func()        // ends the watch of the subchannel's own limit; nil: it has none; set before use
	silent      bool          // Shutdown was reported; only functions in owner.calls use it
	producers   producerSet

	mu        sync.Mutex
	addrs     []resolver.Address // replaced as a whole, never changed
	state     connectivity.State
	current   *Link              // the connection; the oldest, if there are several
	cancel    context.CancelFunc // cancels the attempt to connect; nil while there is none
	retries   int                // failures since the last success
	failure   error              // the last failure
	pause     *time.Timer        // ends TransientFailure
	probation *time.Timer        // ends the time in which the connection's loss counts as a failure; nil: there is none
	health    healthState
}

// scale is the state that only a subchannel needs that may have more than one connection (gRFC
// A105). An RPC takes the oldest connection that has a place for it under the server's
// SETTINGS_MAX_CONCURRENT_STREAMS. If none has, the RPC waits in a queue, and the subchannel makes
// another connection.
//
// A lower limit does not close connections that exist. The lock of the subchannel guards all
// fields.
type scale struct {
	limit      int       // how many connections there may be
	more       []*Link   // all but the subchannel's current one, which is older; the oldest first
	queue      list.List // of *place, the oldest first
	pausing    bool      // the subchannel is Ready and backs off before it makes another connection
	dialLocked func()    // begins to make another connection; immutable
}

// place is an RPC that waits for a connection. It gets nil if the subchannel loses its last
// connection.
type place struct {
	given chan *Link
	at    *list.Element // its element of the queue; nil once it has left the queue
}

// healthState is what a subchannel keeps while it watches its server's health (gRFC A17). The lock
// of the subchannel guards it.
type healthState struct {
	state healthWatch                    // sets the subchannel's state
	heard healthWatch                    // tells the listener
	turn  *func(b balancer.SubConnState) // the listener that is registered; its address identifies it
}

// healthWatch is a watch of the server's health on the subchannel's current connection.
type healthWatch struct {
	cancel context.CancelFunc // ends the watch; nil while there is none
}

// subConnCreds are the credentials that a balancer set for one subchannel, in place of the
// channel's bundle. If the bundle has no transport credentials, the subchannel uses the channel's.
type subConnCreds struct{ bundle credentials.Bundle }

// balancerWrapper is the channel as its balancer sees it. It lives while the channel is not idle.
// The queue calls runs every call of the balancer, one at a time.
type balancerWrapper struct {
	internal.ClientConnSeal

	// Immutable.
	ch *Channel

	policy gracefulswitch.Balancer
	config atomic.Pointer[ServiceConfig] // the last one that policy got; nil before the first

	calls serializer.Serializer

	mu     sync.Mutex // held while the channel takes on a state, so that states keep their order
	closed bool
}

// resolverWrapper is the channel as its resolver sees it. It lives while the channel is not idle.
type resolverWrapper struct {
	ch *Channel // immutable
	// calls runs ResolveNow apart from the balancer's calls: a resolver may call UpdateState from
	// within ResolveNow, and UpdateState waits for the balancer.
	calls serializer.Serializer

	// updates applies states one after the other, so that of states that are reported at once one is
	// applied whole: its service config for RPCs and for the balancer, its Selector, its addresses.
	// Each of them waits for the balancer, and so for the others, in any case. An error does not
	// wait: a balancer may report it from within its own calls.
	updates serializer.Serializer

	mu       sync.Mutex
	resolver resolver.Resolver // nil until Build has returned
	wanted   bool              // resolveNow was called before that
	pace     resolvePace
	delayed  *time.Timer   // makes the next request; nil while none waits
	asking   chan struct{} // closed when the ResolveNow that is under way has returned; nil: none is
	closed   bool
}

// Owner is the layer above, which knows messages and has the public types. Its methods must be safe
// for concurrent use.
type Owner interface {
	// HealthStream opens a stream of the health service on l.
	HealthStream(ctx context.Context, l *Link, method string) (healthcheck.Stream, error)
	// ClientOf returns a grpc.ClientConnInterface whose RPCs go to sub's connection. Producers get
	// it (balancer.ProducerBuilder).
	ClientOf(sub *Subchannel) any

	// ParseServiceConfig parses a service config for a resolver. ServiceConfigOf returns what such
	// a config contains, or nil for a config that ParseServiceConfig did not make.
	ParseServiceConfig(js string) *serviceconfig.ParseResult
	ServiceConfigOf(serviceconfig.Config) *ServiceConfig
}
