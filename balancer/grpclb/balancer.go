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

// lb is the balancer. The channel calls it one call at a time; the stream to the load balancer
// and the fallback timer have goroutines of their own.
//
// Lock order: applying, a call of the child, mu. The channel may be called with any of them.
type lb struct {
	// Immutable.
	cc           balancer.ClientConn
	opts         balancer.BuildOptions
	child        *serial.Child
	stats        callStats
	balancerMode credentials.Bundle // nil without a bundle
	roundRobin   balancer.Builder
	pickFirst    balancer.Builder

	// applying is held while the child is told what to use, so that it hears things in
	// their order.
	applying sync.Mutex

	mu         sync.Mutex // guards what follows
	closed     bool
	config     *lbConfig
	remote     *remote            // nil without a load balancer
	backends   []resolver.Address // those of the resolver
	list       *serverList        // the load balancer's, nil before the first
	fallback   bool               // the resolver's are in use
	contact    bool               // the load balancer has answered on its present stream
	timer      *time.Timer        // until fallback; nil if it doesn't run
	childState balancer.State

	servers servers // has a lock of its own, which comes last
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

// mode returns a bundle in a mode, or as it is if it doesn't know that.
func mode(b credentials.Bundle, name string) credentials.Bundle {
	if b == nil {
		return nil
	}
	other, err := b.NewWithMode(name)
	if err != nil {
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
	return b.apply()
}

// resolved notes what the resolver found, and returns the remote that is over, if any.
func (b *lb) resolved(config *lbConfig, backends, balancers []resolver.Address) (old *remote) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := config.serviceName
	if name == "" {
		name = b.opts.Target.Endpoint()
	}
	b.config, b.backends = config, backends
	if r := b.remote; r != nil && (len(balancers) == 0 || r.name != name) {
		b.remote, old = nil, r
		b.list, b.contact = nil, false
	}
	if len(balancers) == 0 {
		b.stopTimer()
		b.fallback = true
		return old
	}
	if b.remote == nil {
		if !b.fallback { // else the fallback goes on until there is a list
			b.stopTimer()
			b.timer = time.AfterFunc(config.fallback, b.timedOut)
		}
		b.remote = startRemote(remoteParams{name: name, heard: b, stats: &b.stats, bundle: b.balancerMode, build: b.opts})
	}
	b.remote.update(balancers)
	return old
}

// timedOut is the timer's.
func (b *lb) timedOut() {
	b.mu.Lock()
	due := b.timer != nil && b.list == nil && !b.fallback && !b.closed
	b.timer = nil
	if due {
		logger.Infof("no list of servers within %v; what the resolver found is used", b.config.fallback)
		b.fallback = true
	}
	b.mu.Unlock()
	if due {
		b.applyAndLog()
	}
}

// stopTimer is called with mu held.
func (b *lb) stopTimer() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
}

// received takes a list of the load balancer's; without one it asks for the fallback.
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

// answered notes that the load balancer speaks the protocol.
func (b *lb) answered(r *remote) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r == b.remote {
		b.contact = true
	}
}

// fallBack is what the load balancer may ask for.
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

// lost notes that the stream has ended. Its list stays in use as long as its servers work.
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

// childChanged keeps the child's state, and publishes what it means.
func (b *lb) childChanged(s balancer.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.childState = s
	if b.loseServers() {
		// Not from here: this is a call of the child.
		go b.applyAndLog()
		return
	}
	b.publish()
}

// loseServers begins fallback if there is neither a load balancer nor a server of its, and
// says whether it did. mu is held.
func (b *lb) loseServers() bool {
	if b.remote == nil || b.fallback || b.contact || b.closed {
		return false
	}
	if b.list != nil && b.childState.ConnectivityState != connectivity.TransientFailure {
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

// apply tells the child which servers to use.
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
		err = nil // publish says what that means
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.publish()
	return err
}

// publish tells the channel where it stands. mu is held.
func (b *lb) publish() {
	switch {
	case b.closed:
	case b.fallback && len(b.backends) == 0:
		b.fail(errNoFallback)
	case b.fallback, b.list == nil: // without either, what was there before goes on
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

// token returns what finds the tokens of a list by SubConn.
func (b *lb) token(list *serverList) func(balancer.SubConn) string {
	return func(sc balancer.SubConn) string {
		addr := b.servers.address(sc)
		if addr == "" {
			return ""
		}
		return list.token(addr)
	}
}

// ResolverError implements balancer.Balancer.
func (b *lb) ResolverError(err error) {
	b.mu.Lock()
	nothing := b.remote == nil && b.backends == nil
	b.mu.Unlock()
	if nothing {
		b.fail(errors.New("name resolver error: " + err.Error()))
		return
	}
	b.child.ResolverError(err)
}

// UpdateSubConnState is never called: every SubConn here has a listener.
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
