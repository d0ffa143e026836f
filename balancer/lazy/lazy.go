// SPDX-License-Identifier: Apache-2.0

// Package lazy delays a policy until it is needed: its child is built at the first RPC,
// or when the balancer is told to leave idleness.
//
// All of it may change or go in a later release.
package lazy

import (
	"errors"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/serial"
	"google.golang.org/grpc/resolver"
)

var logger = grpclog.Component("lazy")

// ChildBuilderFunc makes the child. It is like the Build of a balancer.Builder.
type ChildBuilderFunc func(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer

// NewBalancer returns a balancer that reports Idle to cc until the first RPC picks, or
// until its ExitIdle. It builds a child by childBuilder then, tells it the latest that
// came from the resolver, and passes everything between it and cc from there on.
//
// Before that, what the resolver finds and its errors are kept and change nothing.
func NewBalancer(cc balancer.ClientConn, opts balancer.BuildOptions, childBuilder ChildBuilderFunc) balancer.Balancer {
	b := &lazy{cc: cc, opts: buildoptions.Keep(cc, opts), build: childBuilder, child: serial.New(cc)}
	b.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Idle, Picker: &picker{exitIdle: b.ExitIdle}})
	return b
}

// lazy is the balancer. RPCs that pick call ExitIdle at the same time as the channel
// calls the rest.
type lazy struct {
	// Immutable.
	cc    balancer.ClientConn
	opts  buildoptions.Kept
	build ChildBuilderFunc
	child *serial.Child

	// mu is not held during calls into the child or cc.
	mu    sync.Mutex
	stage stage
	kept  news
}

// news is what came from the resolver.
type news struct {
	state *balancer.ClientConnState // nil: none came
	err   error                     // nil: none came after state
}

// stage is how far the balancer has come. It only grows.
type stage int

const (
	waiting  stage = iota // there is no child; what comes is kept
	building              // the child hears what was kept; what comes is kept, too
	awake                 // the child is told directly
	closed
)

// UpdateClientConnState keeps the state, or passes it to the child.
func (b *lazy) UpdateClientConnState(s balancer.ClientConnState) error {
	if b.keep(func() { b.kept = news{state: &s} }) {
		return nil
	}
	return b.child.UpdateClientConnState(s)
}

// ResolverError keeps the error, or passes it to the child.
func (b *lazy) ResolverError(err error) {
	if !b.keep(func() { b.kept.err = err }) {
		b.child.ResolverError(err)
	}
}

// keep calls f with mu held, unless there is a child that can be told.
func (b *lazy) keep(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage >= awake {
		return false
	}
	f()
	return true
}

// ExitIdle builds the child, if there is none, and has it leave idleness.
func (b *lazy) ExitIdle() {
	if b.advance(waiting, building) {
		b.child.Build(b.build, b.opts.Of(b.cc))
		b.tell()
	}
	b.child.ExitIdle()
}

// advance makes to the stage, if from is.
func (b *lazy) advance(from, to stage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage != from {
		return false
	}
	b.stage = to
	return true
}

// tell tells the child what was kept, and what comes meanwhile, until nothing is left.
func (b *lazy) tell() {
	for n, more := b.take(); more; n, more = b.take() {
		if n.state != nil {
			err := b.child.UpdateClientConnState(*n.state)
			// The caller that brought the state was told long ago that it was good, so the
			// resolver is asked for another one here.
			if errors.Is(err, balancer.ErrBadResolverState) {
				b.cc.ResolveNow(resolver.ResolveNowOptions{})
			}
		}
		if n.err != nil {
			b.child.ResolverError(n.err)
		}
	}
}

// take returns what is kept. When there is nothing it ends the stage of building.
func (b *lazy) take() (n news, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage != building {
		return news{}, false
	}
	n, b.kept = b.kept, news{}
	if n.state == nil && n.err == nil {
		b.stage = awake
		return news{}, false
	}
	return n, true
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (b *lazy) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// Close closes the child, if there is one.
func (b *lazy) Close() {
	b.mu.Lock()
	b.stage, b.kept = closed, news{}
	b.mu.Unlock()
	b.child.Close()
}

// OwnsSubConns implements subconns.Owner.
func (*lazy) OwnsSubConns() {}

// picker makes RPCs wait, and the first of them wakes the balancer.
type picker struct {
	once     sync.Once
	exitIdle func()
}

func (p *picker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	// An RPC is not to wait for the child to be built, and may hold what that needs.
	p.once.Do(func() { go p.exitIdle() })
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}
