// SPDX-License-Identifier: Apache-2.0

// Package manual has a resolver that passes states from the program to a channel. It is for tests,
// and for programs that know their servers by other means.
package manual

import (
	"sync"

	"google.golang.org/grpc/resolver"
)

// Resolver is both a Builder and a Resolver. It is meant for one channel: if it is built for
// several, it serves the last. UpdateState and CC are safe for concurrent use. The callbacks must
// be set before the first Build.
type Resolver struct {
	scheme string

	// delivery is held while the channel gets a state, so that an older state does not reach it
	// after a newer one. It comes before mu in the lock order.
	delivery sync.Mutex

	mu       sync.Mutex // never held while the channel or a callback runs
	cc       resolver.ClientConn
	last     *resolver.State // the state that the next Build passes to the channel; nil if there is none
	building int             // calls of Build that have not passed on a state: CC waits for them
	built    sync.Cond       // signalled when building has become 0

	// BuildCallback is called at the start of Build.
	BuildCallback func(resolver.Target, resolver.ClientConn, resolver.BuildOptions)
	// CloseCallback is called by Close.
	CloseCallback func()
	// ResolveNowCallback is called by ResolveNow.
	ResolveNowCallback func(resolver.ResolveNowOptions)
	// UpdateStateCallback is called with the error that the channel returned for each state. Build
	// calls it in a new goroutine, as the channel holds a lock until Build returns.
	UpdateStateCallback func(err error)
}

// NewBuilderWithScheme returns a resolver for the scheme. It is not registered: pass it to
// grpc.WithResolvers or to resolver.Register.
func NewBuilderWithScheme(scheme string) *Resolver {
	return &Resolver{
		scheme:              scheme,
		BuildCallback:       func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) {},
		CloseCallback:       func() {},
		ResolveNowCallback:  func(resolver.ResolveNowOptions) {},
		UpdateStateCallback: func(error) {},
	}
}

// InitialState sets the state that a channel gets when the resolver is built for it. Without it,
// the channel gets no state until UpdateState.
func (r *Resolver) InitialState(s resolver.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = &s
}

// Build makes r the resolver of the channel, and passes the initial or last state to the channel. A
// channel that leaves idle mode calls Build again. Code that the channel calls while it gets a state
// must not wait for another channel of the same resolver.
func (r *Resolver) Build(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (resolver.Resolver, error) {
	if told, err := r.start(target, cc, opts); told {
		go r.UpdateStateCallback(err)
	}
	return r, nil
}

// start calls BuildCallback, and begins. CC waits meanwhile.
func (r *Resolver) start(target resolver.Target, cc resolver.ClientConn, opts resolver.BuildOptions) (told bool, err error) {
	r.mu.Lock()
	r.building++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.building--; r.building == 0 {
			r.built.Broadcast()
		}
	}()
	r.BuildCallback(target, cc, opts)
	return r.begin(cc)
}

// begin makes cc the channel, and passes it the last state. told reports whether there was one.
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

// ResolveNow calls ResolveNowCallback.
func (r *Resolver) ResolveNow(o resolver.ResolveNowOptions) { r.ResolveNowCallback(o) }

// Close calls CloseCallback.
func (r *Resolver) Close() { r.CloseCallback() }

// UpdateState passes the state to the channel, and keeps it for the next Build. Before Build it
// does the same as InitialState. Code that the channel calls while it gets a state, such as its
// balancer, must not call UpdateState. ResolveNowCallback may call it.
func (r *Resolver) UpdateState(s resolver.State) {
	if told, err := r.tell(s); told {
		r.UpdateStateCallback(err)
	}
}

// tell makes s the last state, and passes it to the channel. told reports whether there is a
// channel.
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

// CC returns the channel that the resolver was last built for. It waits for a Build that is under way,
// so neither BuildCallback nor what the channel calls for its first state, such as its balancer, may
// call it. It panics if there was no Build, so that a test that forgot to dial fails.
func (r *Resolver) CC() resolver.ClientConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.built.L == nil { // those that wait already read it
		r.built.L = &r.mu
	}
	for r.building > 0 {
		r.built.Wait()
	}
	if r.cc == nil {
		panic("Manual resolver instance has not yet been built.")
	}
	return r.cc
}
