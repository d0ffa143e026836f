// SPDX-License-Identifier: Apache-2.0

package serial

import (
	"errors"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// policy makes a SubConn for each address, and never shuts one down.
type policy struct {
	cc       balancer.ClientConn
	listener func(balancer.SubConnState)
	old      []balancer.SubConnState
	errs     []error
	inExit   func()
	closed   bool
}

func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	for _, a := range s.ResolverState.Addresses {
		//lint:ignore SA1019 one address is the form that stays
		sc, err := p.cc.NewSubConn([]resolver.Address{a}, balancer.NewSubConnOptions{StateListener: p.listener})
		if err != nil {
			return err
		}
		sc.Connect()
	}
	return nil
}

func (p *policy) ResolverError(err error) { p.errs = append(p.errs, err) }

func (p *policy) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	p.old = append(p.old, s)
}

func (p *policy) Close() { p.closed = true }

func (p *policy) ExitIdle() {
	if p.inExit != nil {
		p.inExit()
	}
}

func newChild() (*lbtest.ClientConn, *Child, *policy) {
	cc, p := &lbtest.ClientConn{}, &policy{}
	c := New(cc)
	c.Build(func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
		p.cc = cc
		return p
	}, balancer.BuildOptions{})
	return cc, c, p
}

func resolved(addrs ...string) balancer.ClientConnState {
	var s resolver.State
	for _, a := range addrs {
		s.Addresses = append(s.Addresses, resolver.Address{Addr: a})
	}
	return balancer.ClientConnState{ResolverState: s}
}

func TestCloseShutsDownWhatIsLeft(t *testing.T) {
	cc, c, p := newChild()
	if err := c.UpdateClientConnState(resolved("a", "b")); err != nil {
		t.Fatal(err)
	}
	a, b := cc.SubConn("a"), cc.SubConn("b")
	a.Report(connectivity.Shutdown, nil)
	c.Close()
	if !p.closed || a.IsShutdown() || !b.IsShutdown() {
		t.Errorf("closed %t; shut down: a %t, b %t; want only b", p.closed, a.IsShutdown(), b.IsShutdown())
	}
	b.Report(connectivity.Ready, nil)
	if len(p.old) != 1 {
		t.Errorf("states %v, want only the one before Close", p.old)
	}
	//lint:ignore SA1019 any call will do
	if _, err := p.cc.NewSubConn(nil, balancer.NewSubConnOptions{}); err == nil {
		t.Error("a SubConn after Close")
	}
	if last := cc.SubConns()[2]; !last.IsShutdown() {
		t.Error("a SubConn of a closed policy lives")
	}
	c.Close()
}

func TestNothingReachesAClosedPolicy(t *testing.T) {
	_, c, p := newChild()
	c.Close()
	c.ResolverError(errors.New("no"))
	if err := c.UpdateClientConnState(resolved("a")); err == nil || len(p.errs) > 0 {
		t.Errorf("update %v, errors %v", err, p.errs)
	}
	c.Build(func(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer {
		t.Error("built after Close")
		return nil
	}, balancer.BuildOptions{})
}

func TestOneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc, c, p := newChild()
		heard := 0
		p.listener = func(balancer.SubConnState) { heard++ }
		_ = c.UpdateClientConnState(resolved("a"))
		inside, leave := make(chan struct{}), make(chan struct{})
		p.inExit = func() {
			close(inside)
			<-leave
			if heard != 0 {
				t.Error("a listener ran during ExitIdle")
			}
		}
		go c.ExitIdle()
		<-inside
		reported := make(chan struct{})
		go func() {
			cc.SubConn("a").Report(connectivity.Ready, nil)
			close(reported)
		}()
		close(leave)
		<-reported
		if heard != 1 {
			t.Errorf("the listener heard %d states", heard)
		}
	})
}
