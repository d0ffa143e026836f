// SPDX-License-Identifier: Apache-2.0

// Package lbtest has a fake channel for tests of balancers: it makes SubConns that connect to
// nothing, and records what the balancer reports.
package lbtest

import (
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/resolver"
)

// ClientConn is the fake channel. The zero value is ready for use. It is safe for concurrent use.
type ClientConn struct {
	internal.ClientConnSeal

	mu       sync.Mutex
	subConns []*SubConn
	states   []balancer.State
	resolves int
}

// NewSubConn implements balancer.ClientConn.
func (cc *ClientConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	sc := &SubConn{Options: opts, addrs: slices.Clone(addrs)}
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.subConns = append(cc.subConns, sc)
	return sc, nil
}

// RemoveSubConn implements balancer.ClientConn.
func (cc *ClientConn) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses implements balancer.ClientConn.
func (cc *ClientConn) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	sc.(*SubConn).UpdateAddresses(addrs)
}

// UpdateState implements balancer.ClientConn.
func (cc *ClientConn) UpdateState(s balancer.State) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.states = append(cc.states, s)
}

// ResolveNow implements balancer.ClientConn.
func (cc *ClientConn) ResolveNow(resolver.ResolveNowOptions) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.resolves++
}

// Target implements balancer.ClientConn.
func (cc *ClientConn) Target() string { return "test:///target" }

// MetricsRecorder implements balancer.ClientConn.
func (cc *ClientConn) MetricsRecorder() estats.MetricsRecorder {
	return &estats.UnimplementedMetricsRecorder{}
}

// SubConns returns all SubConns in the order in which they were made, including those that are shut
// down.
func (cc *ClientConn) SubConns() []*SubConn {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return slices.Clone(cc.subConns)
}

// SubConn returns the last SubConn that was made for the address, or nil if there is none.
func (cc *ClientConn) SubConn(addr string) *SubConn {
	for _, sc := range slices.Backward(cc.SubConns()) {
		if sc.Addr() == addr {
			return sc
		}
	}
	return nil
}

// State returns the last state that was reported, and how many states were.
func (cc *ClientConn) State() (last balancer.State, count int) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if n := len(cc.states); n > 0 {
		return cc.states[n-1], n
	}
	return balancer.State{ConnectivityState: -1}, 0
}

// Resolves returns how often ResolveNow was called.
func (cc *ClientConn) Resolves() int {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return cc.resolves
}

// SubConn is a subchannel that changes its state when a test says so.
type SubConn struct {
	internal.SubConnSeal

	// Options are the options that the balancer passed to NewSubConn.
	Options balancer.NewSubConnOptions

	mu       sync.Mutex
	addrs    []resolver.Address
	connects int
	shutdown bool
	health   func(balancer.SubConnState)
}

// UpdateAddresses implements balancer.SubConn.
func (sc *SubConn) UpdateAddresses(addrs []resolver.Address) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.addrs = slices.Clone(addrs)
}

// Connect implements balancer.SubConn.
func (sc *SubConn) Connect() {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.connects++
}

// GetOrBuildProducer implements balancer.SubConn.
func (sc *SubConn) GetOrBuildProducer(b balancer.ProducerBuilder) (balancer.Producer, func()) {
	return b.Build(nil)
}

// Shutdown implements balancer.SubConn.
func (sc *SubConn) Shutdown() {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.shutdown = true
}

// RegisterHealthListener implements balancer.SubConn.
func (sc *SubConn) RegisterHealthListener(listener func(balancer.SubConnState)) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.health = listener
}

// Report tells the balancer a new state. err is the reason for TransientFailure.
func (sc *SubConn) Report(s connectivity.State, err error) {
	sc.Options.StateListener(balancer.SubConnState{ConnectivityState: s, ConnectionError: err})
}

// ReportHealth tells the health listener a new state. It returns false if there is no listener.
func (sc *SubConn) ReportHealth(s connectivity.State, err error) bool {
	sc.mu.Lock()
	listener := sc.health
	sc.mu.Unlock()
	if listener == nil {
		return false
	}
	listener(balancer.SubConnState{ConnectivityState: s, ConnectionError: err})
	return true
}

// Addr returns the first address, or "" if there is none.
func (sc *SubConn) Addr() string { return sc.Address().Addr }

// Address returns the first address with its attributes, or the zero value if there is none.
func (sc *SubConn) Address() resolver.Address {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.addrs) == 0 {
		return resolver.Address{}
	}
	return sc.addrs[0]
}

// Connects returns how often Connect was called.
func (sc *SubConn) Connects() int {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.connects
}

// IsShutdown says whether Shutdown was called.
func (sc *SubConn) IsShutdown() bool {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.shutdown
}
