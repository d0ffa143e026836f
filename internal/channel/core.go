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

// The types that name each other. What each does is in the file of its name and in those that
// begin with that.

// Channel is the part of a grpc.ClientConn that knows no messages. [Channel.Init] makes
// one of the zero value; it has to be closed. It is safe for concurrent use.
//
// A channel begins idle. The first RPC, or Connect, has its target resolved and
// connections made.
//
// Locks: see the package comment. A balancer may call the channel with locks of its own
// held, so the channel does not call the balancer from the methods that a balancer uses.
type Channel struct {
	// Immutable.
	Target
	opts  *Options
	owner Owner
	node  *channelz.Node

	// transport is what new connections are made with. A server that complains of
	// pings gets it replaced.
	transport atomic.Pointer[transport.ClientConfig]
	config    atomic.Pointer[Config] // nil before the resolver's first answer
	scale     atomic.Int32           // how many connections a subchannel may have; see scaling.go

	state stateWatch
	picks pickerGate
	idle  idleness

	mu       sync.Mutex
	closed   bool
	resolver *resolverWrapper // nil in idle mode
	balancer *balancerWrapper // nil in idle mode
	subConns []*Subchannel
	links    []*Link       // every connection that is open, those draining included
	connErr  error         // why the last attempt to connect failed
	resolved bool          // the resolver has answered, or Close was called
	answer   chan struct{} // closed when resolved is set; nil while nobody waits for it
}

// Link is one connection of a subchannel, from the attempt to make it until it is
// closed. It may outlive its subchannel while RPCs go on.
type Link struct {
	// Immutable once the link is used.
	sub    *Subchannel
	addr   *resolver.Address // not changed by anybody
	client *transport.Client
	// bundled are the credentials of RPCs that came with the transport's; nil: none.
	bundled *credentials.PerRPCCredentials

	// Of a subchannel that may have several connections. The subchannel's lock guards rpcs.
	rpcs   int          // under way
	places atomic.Int64 // 1 more than the server takes at a time; 0: any number

	ending sync.Mutex // is held while the end is told; before mu
	mu     sync.Mutex
	unfit  bool // it takes no new RPCs
	closed bool
	listed bool               // it is among the channel's links
	left   bool               // a GOAWAY came
	goAway uint32             // the error code of the last one
	reason string             // why it was lost, for metrics; the first that is known
	ctx    context.Context    // of the stats handlers; nil without, and when they know of the end
	end    context.CancelFunc // ends ctx
	socket *channelz.Socket
}

// Subchannel is a subchannel: at most one connection, to one of its addresses, or some where
// scaling.go says so. It has a goroutine only while it connects.
//
// Its states (connectivity-semantics-and-api.md): Idle until Connect; Connecting; Ready,
// until the connection is lost or takes leave, and then Idle; TransientFailure, for as
// long as the back-off takes, and then Idle; Shutdown.
type Subchannel struct {
	internal.SubConnSeal

	// Immutable.
	ch       *Channel
	owner    *balancerWrapper
	listener func(balancer.SubConnState) // nil: the policy itself is told
	node     *channelz.Node

	// ready is the connection that RPCs use; nil unless the state is Ready.
	ready atomic.Pointer[Link]
	// scale is there once it may have more than one connection.
	scale atomic.Pointer[scale]

	creds       *subConnCreds // immutable; nil: the channel's
	young       bool          // the current connection counts as a failed attempt if it is lost; guarded by mu
	wantsHealth bool          // immutable: the state is to follow the server's health
	unscale     func()        // ends the watch of a limit of its own; nil: it has the channel's; settled before use
	silent      bool          // Shutdown was reported; belongs to owner.calls
	producers   producerSet

	mu      sync.Mutex
	addrs   []resolver.Address // replaced as a whole, never changed
	state   connectivity.State
	current *Link              // the connection
	cancel  context.CancelFunc // of the attempt to connect; nil while there is none
	retries int                // failures since the last success
	failure error              // the last one
	pause   *time.Timer        // ends TransientFailure
	health  healthState
}

// scale is what a subchannel has in addition that may have more than one connection (gRFC
// A105): RPCs take the oldest connection that has a place for them under the server's
// SETTINGS_MAX_CONCURRENT_STREAMS. Where none has they wait in order, and another
// connection is made.
//
// Connections that have been made are not closed for a lower limit. The lock of the
// subchannel guards all of it.
type scale struct {
	limit      int       // how many connections there may be
	more       []*Link   // without the subchannel's current one, which is the oldest; in order
	queue      list.List // of *place, in order
	pausing    bool      // back-off while the subchannel is Ready
	dialLocked func()    // begins to make another; immutable
}

// place is an RPC that waits for a connection. It is given nil if the last one is lost.
type place struct {
	given chan *Link
	at    *list.Element // in the queue; nil: no more
}

// healthState is the watch of the health of a subchannel's server (gRFC A17). The lock of
// the subchannel guards it.
type healthState struct {
	cancel context.CancelFunc             // ends the watch; nil while there is none
	turn   *func(b balancer.SubConnState) // the listener that is registered; its address tells it from others
}

// subConnCreds are the credentials that a balancer gave one subchannel, in place of the channel's
// bundle. Without transport credentials of theirs the channel's are used.
type subConnCreds struct{ bundle credentials.Bundle }

// balancerWrapper is the channel as its balancer sees it, from one idle mode to the
// next. Everything that the balancer is told goes through calls, one at a time.
type balancerWrapper struct {
	internal.ClientConnSeal

	// Immutable.
	ch *Channel

	policy gracefulswitch.Balancer
	config atomic.Pointer[ServiceConfig] // the last that policy was given; nil before

	calls serializer.Serializer

	mu     sync.Mutex // held while the channel takes a state, so that they keep their order
	closed bool
}

// resolverWrapper is the channel as its resolver sees it, from one idle mode to the
// next.
type resolverWrapper struct {
	ch *Channel // immutable
	// calls keeps ResolveNow from running on the balancer's goroutine: a resolver
	// may well call UpdateState from it, which waits for the balancer.
	calls serializer.Serializer

	mu       sync.Mutex
	resolver resolver.Resolver // nil before Build returned
	wanted   bool              // ResolveNow was called before that
	pace     resolvePace
	delayed  *time.Timer // until the next request; nil while none waits
	closed   bool
}

// Owner is the floor above, which knows messages and has the public types. Its methods may
// be called by any goroutine.
type Owner interface {
	// HealthStream opens a stream of the health service on l.
	HealthStream(ctx context.Context, l *Link, method string) (healthcheck.Stream, error)
	// ClientOf returns a grpc.ClientConnInterface whose RPCs go to sub's connection,
	// which producers get (balancer.ProducerBuilder).
	ClientOf(sub *Subchannel) any

	// ParseServiceConfig parses a service config, as resolvers ask for it, and
	// ServiceConfigOf returns what is in such a one; nil if it is none.
	ParseServiceConfig(js string) *serviceconfig.ParseResult
	ServiceConfigOf(serviceconfig.Config) *ServiceConfig
}
