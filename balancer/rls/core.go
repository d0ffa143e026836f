// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"container/list"
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/balancer/serial"
	"google.golang.org/grpc/resolver"
)

var logger = grpclog.Component("rls")

// lb is the balancer. The channel calls it one call at a time, and its pickers at any time;
// lookups and timers have goroutines of their own.
//
// Lock order: applying, a call of a child, mu. The channel may be called with any of them.
type lb struct {
	// Immutable.
	cc      balancer.ClientConn
	opts    balancer.BuildOptions
	backoff backoff.Strategy
	metrics *metrics

	// applying is held while children are told their state.
	applying sync.Mutex

	lookups sync.WaitGroup // the goroutines of lookups

	mu            sync.Mutex // guards what follows
	closed        bool
	config        *lbConfig // nil before the first
	state         resolver.State
	service       *service // nil before the first configuration
	cache         *cache
	pending       map[cacheKey]struct{}
	throttle      throttle
	children      map[string]*child              // by target
	states        [connectivity.Shutdown + 1]int // how many children are in each
	unheld        []*child                       // those that nobody held a moment ago; collect closes them
	defaultTarget *child                         // nil without one; has a hold on it
	purging       *time.Timer                    // nil while there is nothing to purge
	warned        bool                           // that there are too many targets
}

// publish gives the channel the state of the children, the best first, and a new picker: RPCs
// that wait look again. mu is held.
func (b *lb) publish() {
	if b.closed || b.config == nil {
		return
	}
	b.cc.UpdateState(balancer.State{ConnectivityState: b.aggregate(), Picker: &picker{lb: b, config: b.config}})
}

func (b *lb) aggregate() connectivity.State {
	for _, s := range []connectivity.State{connectivity.Ready, connectivity.Connecting, connectivity.Idle, connectivity.TransientFailure} {
		if b.states[s] > 0 {
			return s
		}
	}
	return connectivity.Idle // nobody has asked for anything
}

// child is the policy of a target. lb.mu guards refs and state.
type child struct {
	balancer.ClientConn // what it has for its channel

	lb     *lb
	target string
	policy *serial.Child
	built  bool // guarded by lb.applying

	refs  int // of answers, and of the default target
	state balancer.State
}

// service is the channel to the route lookup service.
type service struct {
	config *lbConfig
	ctx    context.Context // ends lookups
	cancel context.CancelFunc
	cc     *grpc.ClientConn // nil if it could not be made
	err    error            // why not
	done   chan struct{}    // closed when the channel is watched no more
}

// metrics records what one balancer does.
type metrics struct {
	lb       *lb
	recorder estats.MetricsRecorder
	target   string
	id       string // tells the balancers of a process apart
	stop     func()
}

// picker finds the answer for an RPC, or has it asked for. What it knows is the balancer's; a
// new one makes RPCs look again.
type picker struct {
	lb     *lb
	config *lbConfig
}

// choice is what to do with an RPC.
type choice struct {
	err    error           // why it has to wait, or fails
	child  balancer.Picker // who decides, without err
	target string
	header string
	dflt   bool // the default target is used
}

// cacheKey is what answers are kept by: the method, and the keys as one text.
type cacheKey struct {
	path, keys string
}

// answer is what is known for a key: what the service said last, and how it fails since.
type answer struct {
	key     cacheKey
	element *list.Element // in the cache's order
	route   *list.Element // in its routes; nil without targets
	created time.Time

	targets []*child // the best first; the answer has a hold on each
	header  string
	expires time.Time // zero without an answer
	stale   time.Time // from when on it is asked for anew

	failures int
	err      error     // what RPCs are told of the last lookup, nil if it succeeded
	retryAt  time.Time // not before that
	forget   time.Time // the failure is of no interest after that
	wake     *time.Timer
}

// cache has answers up to a size; the ones that were not used for longest go first. What it
// removes it passes to a function.
type cache struct {
	max, size int64
	targets   int  // how many children are held
	crowded   bool // answers had to go because there were too many
	answers   map[cacheKey]*answer
	order     *list.List // the most recently used in front
	routes    *list.List // those with targets, in the same order
}
