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

// lb is the balancer. The channel calls its methods one at a time, and its pickers at any time.
// Lookups and timers call it from goroutines of their own.
//
// Lock order: applying, a child's lock (package serial), mu. lb may call the channel while it holds
// any of them.
type lb struct {
	// Immutable.
	cc      balancer.ClientConn
	opts    balancer.BuildOptions
	backoff backoff.Strategy
	metrics *metrics

	// applying is held while lb updates a child.
	applying sync.Mutex

	tasks sync.WaitGroup // goroutines of lookups; they begin while mu is held and lb is not closed

	mu            sync.Mutex // guards what follows
	closed        bool
	config        *lbConfig // nil before the first update
	state         resolver.State
	service       *service // nil before the first configuration
	cache         *cache
	pending       map[cacheKey]struct{}
	throttle      throttle
	children      map[string]*child              // by target
	states        [connectivity.Shutdown + 1]int // how many children are in each
	unheld        []*child                       // children whose refs dropped to 0; collect looks at them
	defaultTarget *child                         // nil without one; lb holds it
	purging       *time.Timer                    // nil while there is nothing to purge
	waking        bool                           // a timer is about to make RPCs that wait pick again
	throttled     bool                           // the throttle has refused a lookup, and afterThrottle will follow
	warned        bool                           // a warning was logged that there are too many targets
}

// publish reports the best state of a child, with a new picker that makes RPCs that wait pick
// again. The caller must hold mu.
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
	return connectivity.Idle // no RPC has needed a child yet
}

// child is the policy of a target. lb.mu guards refs and state.
type child struct {
	balancer.ClientConn // lb.cc; the child, which wraps it, is the policy's ClientConn

	lb     *lb
	target string
	policy *serial.Child
	built  bool // guarded by lb.applying

	refs  int // how many times answers and lb.defaultTarget hold it
	state balancer.State
}

// service is the channel to the route lookup service.
type service struct {
	config *lbConfig
	ctx    context.Context // ends lookups
	cancel context.CancelFunc
	cc     *grpc.ClientConn // nil if it could not be made
	err    error            // why cc is nil
	done   chan struct{}    // closed when watch has returned
}

// metrics records what one balancer does.
type metrics struct {
	lb       *lb
	recorder estats.MetricsRecorder
	target   string
	id       string // identifies the balancer within the process
	stop     func()
}

// picker finds the answer for an RPC, or starts a lookup. All state is in the balancer; a new
// picker only makes RPCs that wait pick again.
type picker struct {
	lb     *lb
	config *lbConfig
}

// choice is what to do with an RPC.
type choice struct {
	err    error           // why the RPC waits or fails
	child  balancer.Picker // the picker that decides if err is nil
	target string
	header string
	dflt   bool // the default target is used
}

// cacheKey identifies an answer by the method and the RPC's keys, as one text.
type cacheKey struct {
	path, keys string
}

// answer is the cache entry of a key: the service's last response, and the failures since.
type answer struct {
	key     cacheKey
	element *list.Element // in the cache's order
	route   *list.Element // in the cache's routes; nil without targets
	created time.Time

	targets []*child // the best first; the answer holds each
	header  string
	expires time.Time // zero without an answer
	stale   time.Time // when an RPC starts a new lookup although the answer is valid

	failures int
	err      error     // the error for RPCs if the last lookup failed; nil if it succeeded
	retryAt  time.Time // there is no new lookup before that
	forget   time.Time // the failure is forgotten after that
	wake     *time.Timer
}

// cache holds answers up to a total size. It removes the least recently used answers first, and
// passes each answer that it removes to a function.
type cache struct {
	max, size int64
	targets   int  // how many children answers and lb.defaultTarget hold
	crowded   bool // answers were removed because there were too many targets
	answers   map[cacheKey]*answer
	order     *list.List // the most recently used in front
	routes    *list.List // the answers with targets, in the same order
}
