// SPDX-License-Identifier: Apache-2.0

// Package lazy delays a policy until it is needed: its balancer builds the child policy at the
// first RPC, or when its ExitIdle is called.
//
// All of this package may change or be removed in a later release.
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

// NewBalancer returns a balancer that reports Idle to cc until the first RPC picks or its ExitIdle
// is called. It then builds a child with childBuilder and passes the resolver's last update to it.
// From then on it passes everything between the child and cc.
//
// Before that, it keeps the resolver's updates and errors, which have no effect.
func NewBalancer(cc balancer.ClientConn, opts balancer.BuildOptions, childBuilder ChildBuilderFunc) balancer.Balancer {
	b := &lazy{cc: cc, opts: buildoptions.Keep(cc, opts), build: childBuilder, child: serial.New(cc)}
	b.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Idle, Picker: &picker{exitIdle: b.ExitIdle}})
	return b
}

// lazy is the balancer. RPCs that pick may call ExitIdle while the channel calls another method.
type lazy struct {
	// Immutable.
	cc    balancer.ClientConn
	opts  buildoptions.Kept
	build ChildBuilderFunc
	child *serial.Child

	// mu is not held during calls of the child or cc.
	mu    sync.Mutex
	stage stage
	kept  news
}

// news is the last update from the resolver.
type news struct {
	state *balancer.ClientConnState // nil if there was none
	err   error                     // the resolver's error after state; nil if there was none
}

// stage is the stage of the balancer's life. It only increases.
type stage int

const (
	waiting  stage = iota // there is no child; updates are kept
	building              // the child is built and gets the kept updates; new updates are kept, too
	awake                 // updates go to the child directly
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

// keep calls f with mu held and returns true, unless updates go to the child directly.
func (b *lazy) keep(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage >= awake {
		return false
	}
	f()
	return true
}

// ExitIdle builds the child if there is none, and makes it leave idle mode.
func (b *lazy) ExitIdle() {
	if b.advance(waiting, building) {
		b.child.Build(b.build, b.opts.Of(b.cc))
		b.tell()
	}
	b.child.ExitIdle()
}

// advance moves the balancer to the stage to. It returns false, and changes nothing, if the stage
// is not from.
func (b *lazy) advance(from, to stage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage != from {
		return false
	}
	b.stage = to
	return true
}

// tell passes the kept updates to the child, including those that come meanwhile, until none is
// left.
func (b *lazy) tell() {
	for n, more := b.take(); more; n, more = b.take() {
		if n.state != nil {
			err := b.child.UpdateClientConnState(*n.state)
			// The call that brought the state has returned without an error, so the channel does
			// not know that it must ask the resolver again.
			if errors.Is(err, balancer.ErrBadResolverState) {
				b.cc.ResolveNow(resolver.ResolveNowOptions{})
			}
		}
		if n.err != nil {
			b.child.ResolverError(n.err)
		}
	}
}

// take removes and returns what is kept. If nothing is kept, it ends the stage building and returns
// false.
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

// UpdateSubConnState is never called, as every SubConn has a listener.
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

// picker makes RPCs wait. The first of them makes the balancer leave idle mode.
type picker struct {
	once     sync.Once
	exitIdle func()
}

func (p *picker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	// In another goroutine: an RPC must not wait until the child is built, and may hold a lock that
	// building takes.
	p.once.Do(func() { go p.exitIdle() })
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}
