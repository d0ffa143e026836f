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

	mu   sync.Mutex
	cc   resolver.ClientConn
	last *resolver.State // what the next Build begins with; nil for nothing

	// BuildCallback is called at the start of Build.
	BuildCallback func(resolver.Target, resolver.ClientConn, resolver.BuildOptions)
	// CloseCallback is called by Close.
	CloseCallback func()
	// ResolveNowCallback is called by ResolveNow.
	ResolveNowCallback func(resolver.ResolveNowOptions)
	// UpdateStateCallback is called with the channel's answer to each state.
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
	r.mu.Lock()
	r.cc = cc
	last := r.last
	r.mu.Unlock()
	if last != nil {
		r.UpdateStateCallback(cc.UpdateState(*last))
	}
	return r, nil
}

// Scheme returns the scheme that the resolver was made for.
func (r *Resolver) Scheme() string { return r.scheme }

// ResolveNow calls the callback.
func (r *Resolver) ResolveNow(o resolver.ResolveNowOptions) { r.ResolveNowCallback(o) }

// Close calls the callback.
func (r *Resolver) Close() { r.CloseCallback() }

// UpdateState tells the channel the state, and the next one that is built for. Before
// Build it is the same as InitialState.
func (r *Resolver) UpdateState(s resolver.State) {
	r.mu.Lock()
	r.last = &s
	cc := r.cc
	r.mu.Unlock()
	if cc != nil {
		// Outside the lock: the channel may call back.
		r.UpdateStateCallback(cc.UpdateState(s))
	}
}

// CC returns the channel that the resolver was built for last. It panics before Build,
// as a test that forgot to dial should.
func (r *Resolver) CC() resolver.ClientConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cc == nil {
		panic("manual: the resolver was not built yet")
	}
	return r.cc
}
