// SPDX-License-Identifier: Apache-2.0

package base

import (
	"errors"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/resolver"
)

// NewBalancerBuilder returns a builder, with the given name, of balancers whose pickers pb builds.
func NewBalancerBuilder(name string, pb PickerBuilder, config Config) balancer.Builder {
	return &builder{name: name, pickers: pb, config: config}
}

type builder struct {
	name    string
	pickers PickerBuilder
	config  Config
}

func (b *builder) Name() string { return b.name }

func (b *builder) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	return &baseBalancer{
		cc:       cc,
		pickers:  b.pickers,
		config:   b.config,
		subConns: resolver.NewAddressMapV2[*subConn](),
		picker:   NewErrPicker(balancer.ErrNoSubConnAvailable),
		state:    connectivity.Connecting,
	}
}

var logger = grpclog.Component("balancer")

// baseBalancer is a balancer. It needs no lock, as the channel calls its methods and the listeners
// of its SubConns one at a time.
type baseBalancer struct {
	// Immutable.
	cc      balancer.ClientConn
	pickers PickerBuilder
	config  Config

	subConns *resolver.AddressMapV2[*subConn]
	states   balancer.ConnectivityStateEvaluator
	state    connectivity.State
	picker   balancer.Picker

	// These say why no SubConn works, for the picker of TransientFailure; nil if that error did not
	// occur.
	resolverErr, connErr error
}

// subConn is a SubConn with its address and state.
type subConn struct {
	balancer.SubConn
	address resolver.Address
	// state is the state that counts for the balancer's: after a failure it stays TransientFailure
	// until the SubConn is Ready.
	state connectivity.State
}

// UpdateClientConnState makes SubConns for new addresses, and shuts down those whose addresses are
// gone.
func (b *baseBalancer) UpdateClientConnState(s balancer.ClientConnState) error {
	b.resolverErr = nil
	wanted := resolver.NewAddressMapV2[bool]()
	for _, a := range s.ResolverState.Addresses {
		wanted.Set(a, true)
		b.ensure(a)
	}
	b.dropAllBut(wanted)
	if len(s.ResolverState.Addresses) == 0 {
		b.ResolverError(errors.New("produced zero addresses"))
		return balancer.ErrBadResolverState
	}
	b.state = b.states.CurrentState()
	b.renewPicker()
	b.publish()
	return nil
}

// ensure makes a SubConn for an address that has none. If the address has one, ensure only stores
// the new address, which may differ in fields that an AddressMapV2 does not compare.
func (b *baseBalancer) ensure(a resolver.Address) {
	if known, ok := b.subConns.Get(a); ok {
		known.address = a
		return
	}
	// It never counts as idle, as the balancer makes it connect at once.
	sc := &subConn{address: a, state: connectivity.Connecting}
	//lint:ignore SA1019 one address is the form that stays
	made, err := b.cc.NewSubConn([]resolver.Address{a}, balancer.NewSubConnOptions{
		HealthCheckEnabled: b.config.HealthCheck,
		StateListener:      func(s balancer.SubConnState) { b.subConnChanged(sc, s) },
	})
	if err != nil {
		logger.Warningf("no SubConn for %v: %v", a, err)
		return
	}
	sc.SubConn = made
	b.subConns.Set(a, sc)
	b.states.RecordTransition(connectivity.Shutdown, sc.state)
	made.Connect()
}

// dropAllBut shuts down the SubConns whose addresses are not wanted any more.
func (b *baseBalancer) dropAllBut(wanted *resolver.AddressMapV2[bool]) {
	var gone []*subConn
	for a, sc := range b.subConns.All() {
		if _, ok := wanted.Get(a); !ok {
			gone = append(gone, sc)
		}
	}
	for _, sc := range gone {
		b.subConns.Delete(sc.address)
		b.states.RecordTransition(sc.state, connectivity.Shutdown)
		sc.state = connectivity.Shutdown
		sc.Shutdown()
	}
}

// ResolverError changes what RPCs get only if the balancer has no SubConns or is in
// TransientFailure.
func (b *baseBalancer) ResolverError(err error) {
	b.resolverErr = err
	if b.subConns.Len() == 0 {
		b.state = connectivity.TransientFailure
	}
	if b.state != connectivity.TransientFailure {
		return
	}
	b.renewPicker()
	b.publish()
}

// UpdateSubConnState is never called, as every SubConn has a listener.
func (b *baseBalancer) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// Close does nothing: the channel shuts down the SubConns.
func (b *baseBalancer) Close() {}

// ExitIdle has nothing to do: no SubConn is left idle.
func (b *baseBalancer) ExitIdle() {}

func (b *baseBalancer) subConnChanged(sc *subConn, s balancer.SubConnState) {
	if sc.state == connectivity.Shutdown {
		return // the balancer has shut it down
	}
	if s.ConnectivityState == connectivity.Idle {
		sc.Connect()
	}
	if s.ConnectivityState == connectivity.TransientFailure {
		b.connErr = s.ConnectionError
	}
	before := sc.state
	if before == connectivity.TransientFailure && isHopeful(s.ConnectivityState) {
		// The SubConn counts as failed until it is ready. Otherwise a server that is down would
		// make the channel switch back and forth between failing RPCs and letting them wait.
		return
	}
	sc.state = s.ConnectivityState
	b.state = b.states.RecordTransition(before, sc.state)
	wasReady, isReady := before == connectivity.Ready, sc.state == connectivity.Ready
	if wasReady != isReady || b.state == connectivity.TransientFailure {
		b.renewPicker()
	}
	b.publish()
}

func isHopeful(s connectivity.State) bool {
	return s == connectivity.Idle || s == connectivity.Connecting
}

func (b *baseBalancer) publish() {
	b.cc.UpdateState(balancer.State{ConnectivityState: b.state, Picker: b.picker})
}

func (b *baseBalancer) renewPicker() {
	if b.state == connectivity.TransientFailure {
		b.picker = NewErrPicker(b.reason())
		return
	}
	ready := make(map[balancer.SubConn]SubConnInfo)
	for _, sc := range b.subConns.All() {
		if sc.state == connectivity.Ready {
			ready[sc.SubConn] = SubConnInfo{Address: sc.address}
		}
	}
	b.picker = b.pickers.Build(PickerBuildInfo{ReadySCs: ready})
}

// reason returns an error that says why RPCs fail. It quotes the errors as text, so that a status
// in one of them does not become the RPCs' status.
func (b *baseBalancer) reason() error {
	switch {
	case b.connErr == nil && b.resolverErr == nil:
		return errors.New("no connection could be made")
	case b.connErr == nil:
		return errors.New("last resolver error: " + b.resolverErr.Error())
	case b.resolverErr == nil:
		return errors.New("last connection error: " + b.connErr.Error())
	}
	return errors.New("last connection error: " + b.connErr.Error() + "; last resolver error: " + b.resolverErr.Error())
}
