// SPDX-License-Identifier: Apache-2.0

package lbtest

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// Leaf builds simple policies in place of pick_first, for tests of the policies above it. Each
// policy has one SubConn, to the first address of the first endpoint. It connects the SubConn at
// once and on ExitIdle, and reports the SubConn's states as they are.
type Leaf struct{ LeafName string }

// UseLeaf registers a Leaf in place of the policy with that name, until the end of the test.
func UseLeaf(t testing.TB, name string) {
	old := balancer.Get(name)
	balancer.Register(Leaf{LeafName: name})
	t.Cleanup(func() { balancer.Register(old) })
}

// Name implements balancer.Builder.
func (l Leaf) Name() string { return l.LeafName }

// Build implements balancer.Builder.
func (l Leaf) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	return &leaf{cc: cc}
}

type leaf struct {
	cc balancer.ClientConn
	sc balancer.SubConn
}

func (l *leaf) UpdateClientConnState(s balancer.ClientConnState) error {
	if l.sc != nil {
		return nil
	}
	if resolver.ValidateEndpoints(s.ResolverState.Endpoints) != nil {
		l.ResolverError(balancer.ErrBadResolverState)
		return balancer.ErrBadResolverState
	}
	//lint:ignore SA1019 one address is the form that stays
	sc, err := l.cc.NewSubConn(s.ResolverState.Endpoints[0].Addresses[:1], balancer.NewSubConnOptions{
		StateListener: l.changed,
	})
	if err != nil {
		return err
	}
	l.sc = sc
	sc.Connect()
	return nil
}

func (l *leaf) changed(s balancer.SubConnState) {
	p := leafPicker{l.sc, balancer.ErrNoSubConnAvailable}
	switch s.ConnectivityState {
	case connectivity.Ready:
		p.err = nil
	case connectivity.TransientFailure:
		p.err = s.ConnectionError
	case connectivity.Idle:
		l.cc.ResolveNow(resolver.ResolveNowOptions{})
	}
	l.cc.UpdateState(balancer.State{ConnectivityState: s.ConnectivityState, Picker: p})
}

func (l *leaf) ResolverError(err error) {
	if l.sc == nil {
		l.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: leafPicker{nil, err}})
	}
}

func (l *leaf) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	panic(fmt.Sprintf("a state (%v) came by UpdateSubConnState", s))
}

func (l *leaf) ExitIdle() {
	if l.sc != nil {
		l.sc.Connect()
	}
}

func (l *leaf) Close() {
	if l.sc != nil {
		l.sc.Shutdown()
	}
}

type leafPicker struct {
	sc  balancer.SubConn
	err error
}

func (p leafPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	if p.err != nil {
		return balancer.PickResult{}, p.err
	}
	return balancer.PickResult{SubConn: p.sc}, nil
}
