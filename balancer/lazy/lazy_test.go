// SPDX-License-Identifier: Apache-2.0

package lazy_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/lazy"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/serviceconfig"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// policy is a child that writes down what it hears.
type policy struct {
	heard   []any
	onState func()
	fails   error
}

func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	p.heard = append(p.heard, s.BalancerConfig)
	if p.onState != nil {
		p.onState()
	}
	return p.fails
}

func (p *policy) ResolverError(err error)                                    { p.heard = append(p.heard, err) }
func (p *policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}
func (p *policy) Close()                                                     { p.heard = append(p.heard, "close") }

func (p *policy) ExitIdle() { p.heard = append(p.heard, "exit") }

type fixture struct {
	*testing.T
	cc    *lbtest.ClientConn
	lb    balancer.Balancer
	child policy
	built int
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, cc: &lbtest.ClientConn{}}
	f.lb = lazy.NewBalancer(f.cc, balancer.BuildOptions{}, func(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer {
		f.built++
		return &f.child
	})
	return f
}

// config tells one update from another.
type config struct {
	serviceconfig.LoadBalancingConfig
	text string
}

func state(text string) balancer.ClientConnState {
	return balancer.ClientConnState{BalancerConfig: config{text: text}}
}

func (f *fixture) update(text string) {
	f.Helper()
	if err := f.lb.UpdateClientConnState(state(text)); err != nil {
		f.Error(err)
	}
}

func (f *fixture) want(heard ...any) {
	f.Helper()
	var got []any
	for _, h := range f.child.heard {
		if c, ok := h.(config); ok {
			h = c.text
		}
		got = append(got, h)
	}
	if !slices.Equal(got, heard) {
		f.Errorf("the child heard %v, want %v", got, heard)
	}
}

func TestFirstPickWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.update("one")
		f.lb.ResolverError(errors.New("forgotten"))
		f.update("two")
		last, n := f.cc.State()
		if last.ConnectivityState != connectivity.Idle || n != 1 || f.built != 0 {
			t.Fatalf("%v, %d reports, %d children", last.ConnectivityState, n, f.built)
		}
		for range 5 {
			if _, err := last.Picker.Pick(balancer.PickInfo{}); err != balancer.ErrNoSubConnAvailable {
				t.Errorf("Pick: %v", err)
			}
		}
		synctest.Wait()
		if f.built != 1 {
			t.Errorf("%d children", f.built)
		}
		f.want("two", "exit")
		f.update("three")
		f.lb.Close()
		f.want("two", "exit", "three", "close")
	})
}

func TestKeptErrorComesAfterTheState(t *testing.T) {
	f := newFixture(t)
	f.update("one")
	err := errors.New("lost")
	f.lb.ResolverError(err)
	f.lb.ExitIdle()
	f.lb.ExitIdle()
	f.want("one", err, "exit", "exit")
}

func TestNewsWhileTheChildIsBuilt(t *testing.T) {
	f := newFixture(t)
	f.update("one")
	err := errors.New("lost")
	f.child.onState = func() {
		f.child.onState = nil
		f.lb.ResolverError(err)
	}
	f.lb.ExitIdle()
	f.want("one", err, "exit")
}

func TestBadStateIsResolvedAgain(t *testing.T) {
	f := newFixture(t)
	f.child.fails = balancer.ErrBadResolverState
	f.update("one")
	f.lb.ExitIdle()
	if n := f.cc.Resolves(); n != 1 {
		t.Errorf("%d calls of ResolveNow", n)
	}
	if err := f.lb.UpdateClientConnState(state("two")); err != balancer.ErrBadResolverState {
		t.Errorf("awake: %v", err)
	}
}

func TestClosedUnused(t *testing.T) {
	f := newFixture(t)
	f.update("one")
	f.lb.Close()
	f.lb.ExitIdle()
	f.lb.ResolverError(errors.New("late"))
	_ = f.lb.UpdateClientConnState(state("late"))
	if f.built != 0 {
		t.Errorf("%d children after Close", f.built)
	}
}
