// SPDX-License-Identifier: Apache-2.0

// Package manual holds a resolver that tells a channel what the program says, for tests
// and for programs that know their servers by other means.
package manual

import (
	"sync"

	"google.golang.org/grpc/resolver"
)

// Resolver is a Builder and a Resolver in one. It is meant for one channel: built for
// several, it serves the last. UpdateState and CC may be called from any goroutine; the
// callbacks are to be set before the first Build.
type Resolver struct {
	scheme string

	// delivery is held while the channel gets a state, so that an older one does not
	// reach it after a newer one. It is locked before mu.
	delivery sync.Mutex

	mu   sync.Mutex // never held while the channel or a callback runs
	cc   resolver.ClientConn
	last *resolver.State // what the next Build begins with; nil for nothing

	// BuildCallback is called at the start of Build.
	BuildCallback func(resolver.Target, resolver.ClientConn, resolver.BuildOptions)
	// CloseCallback is called by Close.
	CloseCallback func()
	// ResolveNowCallback is called by ResolveNow.
	ResolveNowCallback func(resolver.ResolveNowOptions)
	// UpdateStateCallback is called with the channel's answer to each state. Build starts a
	// goroutine for it, as the channel holds a lock until Build returns.
	UpdateStateCallback func(err error)
}

// NewBuilderWithScheme returns a resolver for the scheme. It is not registered: give it
// to grpc.WithResolvers, or to resolver.Register.
func NewBuilderWithScheme(scheme string) *Resolver {
	return &Resolver{
		scheme:              scheme,
		BuildCallback:       func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) {},
		CloseCallback:       func() {},
		ResolveNowCallback:  func(resolver.ResolveNowOptions) {},
		UpdateStateCallback: func(error) {},
	}
}

// InitialState sets the state that a channel gets while the resolver is built for it.
// Without one it gets none until UpdateState.
func (r *Resolver) InitialState(s resolver.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = &s
}

// Build makes r the resolver of the channel and tells it the initial or last state. A
// channel that leaves idleness builds its resolver again.
func (r *Resolver) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	r.BuildCallback(target, cc, opts)
	if told, err := r.begin(cc); told {
		go r.UpdateStateCallback(err)
	}
	return r, nil
}

// begin makes cc the channel, and tells it the last state if there is one.
func (r *Resolver) begin(cc resolver.ClientConn) (told bool, err error) {
	r.delivery.Lock()
	defer r.delivery.Unlock()
	r.mu.Lock()
	r.cc = cc
	last := r.last
	r.mu.Unlock()
	if last == nil {
		return false, nil
	}
	return true, cc.UpdateState(*last)
}

// Scheme returns the scheme that the resolver was made for.
func (r *Resolver) Scheme() string { return r.scheme }

// ResolveNow calls the callback.
func (r *Resolver) ResolveNow(o resolver.ResolveNowOptions) { r.ResolveNowCallback(o) }

// Close calls the callback.
func (r *Resolver) Close() { r.CloseCallback() }

// UpdateState tells the channel the state, and the next one that is built for. Before
// Build it is the same as InitialState. What the channel calls while it takes a state,
// such as its balancer, must not call UpdateState; ResolveNowCallback may.
func (r *Resolver) UpdateState(s resolver.State) {
	if told, err := r.tell(s); told {
		r.UpdateStateCallback(err)
	}
}

// tell makes s the last state, and tells the channel if there is one.
func (r *Resolver) tell(s resolver.State) (told bool, err error) {
	r.delivery.Lock()
	defer r.delivery.Unlock()
	r.mu.Lock()
	r.last = &s
	cc := r.cc
	r.mu.Unlock()
	if cc == nil {
		return false, nil
	}
	return true, cc.UpdateState(s)
}

// CC returns the channel that the resolver was built for last. It panics before Build,
// as a test that forgot to dial should.
func (r *Resolver) CC() resolver.ClientConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cc == nil {
		panic("Manual resolver instance has not yet been built.")
	}
	return r.cc
}
