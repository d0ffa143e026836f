// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/grpclb/state"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/balancer/serial"
	"google.golang.org/grpc/internal/credsmode"
	"google.golang.org/grpc/resolver"
)

var errNoFallback = errors.New("grpclb: the load balancer can't be reached, and the resolver found no server")

// lb is the balancer. The channel calls its methods one at a time. The stream to the load balancer
// and the fallback timer call it from goroutines of their own.
//
// Lock order: applying, the child's lock (package serial), mu. lb may call the channel while it
// holds any of them.
type lb struct {
	// Immutable.
	cc           balancer.ClientConn
	opts         balancer.BuildOptions
	child        *serial.Child
	stats        callStats
	balancerMode credentials.Bundle // the channel's bundle in balancer mode; nil if the channel has no bundle
	roundRobin   balancer.Builder
	pickFirst    balancer.Builder

	// applying is held while lb updates the child, so that the child gets updates in order.
	applying sync.Mutex

	mu         sync.Mutex // guards what follows
	closed     bool
	config     *lbConfig
	remote     *remote            // nil if there is no load balancer
	backends   []resolver.Address // the servers that the resolver found
	list       *serverList        // the load balancer's last list; nil before the first
	fallback   bool               // backends are in use, not list
	contact    bool               // the load balancer has answered on the current stream
	timer      *fallbackTimer     // nil if it doesn't run
	childState balancer.State

	servers servers // has a lock of its own, which is the last in the lock order
}

// fallbackTimer starts the fallback. Its address tells it from later ones: Stop may come too late.
type fallbackTimer struct {
	timer *time.Timer
}

func newLB(cc balancer.ClientConn, opts balancer.BuildOptions) *lb {
	b := &lb{cc: cc, opts: opts, config: &lbConfig{fallback: fallbackTimeout}}
	b.balancerMode = mode(opts.CredsBundle, credsmode.Balancer)
	b.roundRobin = base.NewBalancerBuilder("grpclb_round_robin", orderBuilder{b.currentList}, base.Config{HealthCheck: true})
	b.pickFirst = balancer.Get(pickfirst.Name)
	b.child = serial.New(&childConn{
		ClientConn: cc, changed: b.childChanged, servers: &b.servers,
		mode: mode(opts.CredsBundle, credsmode.BackendFromBalancer),
	})
	b.child.Build(func(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
		return gracefulswitch.New(cc, opts)
	}, opts)
	return b
}

// mode returns the bundle in the given mode, or b itself if b does not support the mode.
func mode(b credentials.Bundle, name string) credentials.Bundle {
	if b == nil {
		return nil
	}
	other, err := b.NewWithMode(name)
	if err != nil || other == nil {
		logger.Warningf("the credentials have no mode %q, and are used as they are: %v", name, err)
		return b
	}
	return other
}

// UpdateClientConnState implements balancer.Balancer.
func (b *lb) UpdateClientConnState(s balancer.ClientConnState) error {
	config, ok := s.BalancerConfig.(*lbConfig)
	if !ok {
		if s.BalancerConfig != nil {
			return fmt.Errorf("%w: grpclb got a configuration of type %T", balancer.ErrBadResolverState, s.BalancerConfig)
		}
		config = &lbConfig{fallback: fallbackTimeout}
	}
	backends := s.ResolverState.Addresses
	if len(backends) == 0 {
		for _, e := range s.ResolverState.Endpoints {
			backends = append(backends, e.Addresses...)
		}
	}
	var balancers []resolver.Address
	if own := state.Get(s.ResolverState); own != nil {
		balancers = own.BalancerAddresses
	}
	if len(backends) == 0 && len(balancers) == 0 {
		b.ResolverError(errors.New("produced zero addresses"))
		return balancer.ErrBadResolverState
	}
	old := b.resolved(config, backends, balancers)
	old.stop()
	if len(balancers) > 0 {
		b.reach(config, balancers)
	}
	return b.apply()
}

// serviceName returns the name by which load balancers know the service.
func (b *lb) serviceName(config *lbConfig) string {
	if config.serviceName != "" {
		return config.serviceName
	}
	return b.opts.Target.Endpoint()
}

// resolved stores what the resolver found. It returns the remote that is not used any more, or nil.
func (b *lb) resolved(config *lbConfig, backends, balancers []resolver.Address) (old *remote) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config, b.backends = config, backends
	if r := b.remote; r != nil && (len(balancers) == 0 || r.name != b.serviceName(config)) {
		b.remote, old = nil, r
		b.list, b.contact = nil, false
	}
	switch {
	case len(balancers) == 0:
		b.stopTimer()
		b.fallback = true
	case b.remote == nil && !b.fallback: // a fallback goes on until a list comes
		b.stopTimer()
		b.startTimer(config.fallback)
	}
	return old
}

// reach has the remote use the load balancers, and makes one if there is none. The caller must not hold mu: the
// channel's credentials may be the program's.
func (b *lb) reach(config *lbConfig, balancers []resolver.Address) {
	b.mu.Lock()
	r := b.remote
	b.mu.Unlock()
	if r != nil {
		r.update(balancers)
		return
	}
	r = newRemote(remoteParams{name: b.serviceName(config), heard: b, stats: &b.stats, bundle: b.balancerMode, build: b.opts, resolve: b.cc.ResolveNow})
	r.update(balancers)
	b.mu.Lock()
	b.remote = r
	b.mu.Unlock()
	r.start() // last: lb ignores what it hears from another remote than its own
}

// startTimer starts the fallback timer. The caller must hold mu.
func (b *lb) startTimer(d time.Duration) {
	t := &fallbackTimer{}
	t.timer = time.AfterFunc(d, func() { b.timedOut(t) })
	b.timer = t
}

// timedOut begins the fallback if no list came in time. The timer t calls it.
func (b *lb) timedOut(t *fallbackTimer) {
	b.mu.Lock()
	due := false
	if b.timer == t {
		b.timer = nil
		due = b.list == nil && !b.fallback && !b.closed
	}
	within := b.config.fallback
	if due {
		b.fallback = true
	}
	b.mu.Unlock()
	if due {
		logger.Infof("no list of servers within %v; what the resolver found is used", within)
		b.applyAndLog()
	}
}

// stopTimer stops the fallback timer. The caller must hold mu.
func (b *lb) stopTimer() {
	if b.timer != nil {
		b.timer.timer.Stop()
		b.timer = nil
	}
}

// received handles a list of the load balancer. A nil list means that the load balancer asks for
// the fallback.
func (b *lb) received(r *remote, list *serverList) {
	if list == nil {
		b.fallBack(r)
		return
	}
	b.mu.Lock()
	ours := r == b.remote && !b.closed
	changed := ours && (b.fallback || !list.equal(b.list))
	if changed {
		b.stopTimer()
		b.list, b.fallback = list, false
	}
	b.mu.Unlock()
	if changed {
		b.applyAndLog()
	}
}

// answered records that the load balancer has answered.
func (b *lb) answered(r *remote) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r == b.remote {
		b.contact = true
	}
}

// fallBack begins the fallback because the load balancer asked for it.
func (b *lb) fallBack(r *remote) {
	b.mu.Lock()
	due := r == b.remote && !b.fallback && !b.closed
	if due {
		b.stopTimer()
		b.fallback = true
	}
	b.mu.Unlock()
	if due {
		b.applyAndLog()
	}
}

// lost handles the end of the stream. The list stays in use as long as its servers work.
func (b *lb) lost(r *remote) {
	b.mu.Lock()
	ours := r == b.remote && !b.closed
	due := false
	if ours {
		b.contact = false
		due = b.loseServers()
	}
	b.mu.Unlock()
	if ours {
		b.cc.ResolveNow(resolver.ResolveNowOptions{})
	}
	if due {
		b.applyAndLog()
	}
}

// childChanged stores the child's state, and reports the channel's state that follows from it.
func (b *lb) childChanged(s balancer.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.childState = s
	// Without a list the child has the servers of an earlier one, or none, and tells nothing of the
	// load balancer: the timer and the end of the stream begin the fallback.
	if b.list != nil && b.loseServers() {
		// In another goroutine, as the child is calling and apply calls the child.
		go b.applyAndLog()
		return
	}
	b.publish()
}

// loseServers begins the fallback if lb has contact neither with the load balancer nor with a
// server of its list. It reports whether it did. The caller must hold mu.
func (b *lb) loseServers() bool {
	if b.remote == nil || b.fallback || b.contact || b.closed {
		return false
	}
	if b.list != nil && b.childState.ConnectivityState == connectivity.Ready {
		return false
	}
	b.stopTimer()
	b.fallback = true
	return true
}

func (b *lb) applyAndLog() {
	if err := b.apply(); err != nil {
		logger.Infof("the child policy: %v", err)
	}
}

// apply passes the servers to use to the child, and reports the channel's state.
func (b *lb) apply() error {
	b.applying.Lock()
	defer b.applying.Unlock()
	b.mu.Lock()
	policy, addrs, ready := b.roundRobin, b.backends, b.fallback
	if b.config.pickFirst {
		policy = b.pickFirst
	}
	if b.list != nil && !b.fallback {
		addrs, ready = b.list.addresses(), true
	}
	if b.closed {
		ready = false
	}
	b.mu.Unlock()
	if !ready {
		return nil
	}
	s := resolver.State{Addresses: addrs}
	for _, a := range addrs {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{a}})
	}
	err := b.child.UpdateClientConnState(balancer.ClientConnState{
		ResolverState:  s,
		BalancerConfig: &gracefulswitch.Config{Child: policy},
	})
	if len(addrs) == 0 {
		err = nil // publish reports why there is no server
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.publish()
	return err
}

// publish reports the channel's state and picker. The caller must hold mu.
func (b *lb) publish() {
	switch {
	case b.closed:
	case b.fallback && len(b.backends) == 0:
		b.fail(errNoFallback)
	case b.fallback, b.list == nil: // without a list and without fallback, the child's last state stays
		b.report(b.childState)
	case !b.list.servers && b.list.drops:
		b.report(balancer.State{ConnectivityState: connectivity.Ready, Picker: &listPicker{list: b.list, stats: &b.stats}})
	case !b.list.servers:
		b.fail(errNoServers)
	case b.childState.ConnectivityState == connectivity.Ready:
		b.report(balancer.State{
			ConnectivityState: connectivity.Ready,
			Picker:            &listPicker{list: b.list, stats: &b.stats, child: b.childState.Picker, token: b.token(b.list)},
		})
	default:
		b.report(b.childState)
	}
}

func (b *lb) report(s balancer.State) {
	if s.Picker != nil {
		b.cc.UpdateState(s)
	}
}

func (b *lb) fail(err error) {
	b.report(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: base.NewErrPicker(err)})
}

func (b *lb) currentList() *serverList {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.list
}

// token returns a function that returns the list's token for a SubConn.
func (b *lb) token(list *serverList) func(balancer.SubConn) string {
	return func(sc balancer.SubConn) string {
		addr := b.servers.address(sc)
		if addr == "" {
			return ""
		}
		return list.token(addr)
	}
}

// ResolverError implements balancer.Balancer. While lb waits for the first list, an error does not
// matter: the child has no servers yet, and would report the error as its own.
func (b *lb) ResolverError(err error) {
	b.mu.Lock()
	nothing := b.remote == nil && b.backends == nil
	waits := !b.fallback && b.list == nil
	b.mu.Unlock()
	switch {
	case nothing:
		b.fail(errors.New("name resolver error: " + err.Error()))
	case !waits:
		b.child.ResolverError(err)
	}
}

// UpdateSubConnState is never called, as every SubConn has a listener.
func (b *lb) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements balancer.Balancer.
func (b *lb) ExitIdle() { b.child.ExitIdle() }

// Close implements balancer.Balancer.
func (b *lb) Close() {
	b.mu.Lock()
	b.closed = true
	b.stopTimer()
	r := b.remote
	b.remote = nil
	b.mu.Unlock()
	r.stop()
	b.child.Close()
}
