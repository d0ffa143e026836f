// SPDX-License-Identifier: Apache-2.0

package endpointsharding_test

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/later"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// policy is a child that does what a test says.
type policy struct {
	cc     balancer.ClientConn
	states []balancer.ClientConnState
	errs   []error
	exits  int
	closed bool
	fails  error
}

func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	p.states = append(p.states, s)
	p.report(connectivity.Connecting)
	return p.fails
}

func (p *policy) ResolverError(err error)                                    { p.errs = append(p.errs, err) }
func (p *policy) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}
func (p *policy) Close()                                                     { p.closed = true }
func (p *policy) ExitIdle()                                                  { p.exits++ }

func (p *policy) addr() string { return p.states[0].ResolverState.Endpoints[0].Addresses[0].Addr }

// report reports a state with a picker that returns the child's address as an error.
func (p *policy) report(s connectivity.State) {
	p.cc.UpdateState(balancer.State{ConnectivityState: s, Picker: base.NewErrPicker(errors.New(p.addr()))})
}

type fixture struct {
	*testing.T
	cc    *lbtest.ClientConn
	lb    balancer.Balancer
	built []*policy
	fails error  // of children that are built later
	pause func() // in the building of such
}

func newFixture(t *testing.T, opts endpointsharding.Options) *fixture {
	f := &fixture{T: t, cc: &lbtest.ClientConn{}}
	f.lb = endpointsharding.NewBalancer(f.cc, balancer.BuildOptions{}, func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
		p := &policy{cc: cc}
		f.built = append(f.built, p)
		return p
	}, opts)
	return f
}

// state returns what the resolver says of endpoints, of which each is a list of
// addresses with commas.
func state(endpoints ...string) balancer.ClientConnState {
	var s resolver.State
	for _, list := range endpoints {
		var e resolver.Endpoint
		for a := range strings.SplitSeq(list, ",") {
			if a != "" {
				e.Addresses = append(e.Addresses, resolver.Address{Addr: a})
			}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return balancer.ClientConnState{ResolverState: s}
}

func (f *fixture) resolve(endpoints ...string) {
	f.Helper()
	if err := f.lb.UpdateClientConnState(state(endpoints...)); err != nil {
		f.Error(err)
	}
}

// child returns the last one that was built for the endpoint of the address.
func (f *fixture) child(addr string) *policy {
	f.Helper()
	for _, p := range slices.Backward(f.built) {
		if p.addr() == addr {
			return p
		}
	}
	f.Fatalf("no child of %q", addr)
	return nil
}

// want checks the state, and which children the picker goes round.
func (f *fixture) want(s connectivity.State, texts ...string) {
	f.Helper()
	last, _ := f.cc.State()
	if last.ConnectivityState != s {
		f.Errorf("state %v, want %v", last.ConnectivityState, s)
	}
	picks := make(map[string]int)
	for range 3 * len(texts) {
		_, err := last.Picker.Pick(balancer.PickInfo{})
		picks[err.Error()]++
		if _, ok := status.FromError(err); ok {
			f.Errorf("Pick: %v, which has a status", err)
		}
	}
	if got := slices.Sorted(maps.Keys(picks)); !slices.Equal(got, texts) {
		f.Errorf("picks %q, want %q", got, texts)
	}
	for text, n := range picks {
		if n != 3 {
			f.Errorf("%d of %d picks of %q", n, 3*len(texts), text)
		}
	}
}

func TestEachEndpointHasAChild(t *testing.T) {
	f := newFixture(t, endpointsharding.Options{})
	s := state("a,b", "", "c", "b,a")
	s.BalancerConfig = struct {
		serviceconfig.LoadBalancingConfig
	}{}
	if err := f.lb.UpdateClientConnState(s); err != nil {
		t.Error(err)
	}
	if len(f.built) != 2 {
		t.Fatalf("%d children", len(f.built))
	}
	got := f.child("a").states[0]
	if n := len(got.ResolverState.Endpoints); n != 1 || len(got.ResolverState.Addresses) != 2 || got.BalancerConfig != s.BalancerConfig {
		t.Errorf("a child got %+v", got)
	}
	if _, n := f.cc.State(); n != 1 {
		t.Errorf("%d reports for one update", n)
	}
	f.want(connectivity.Connecting, "a", "c")
}

func TestStateIsTheBest(t *testing.T) {
	const (
		ready      = connectivity.Ready
		connecting = connectivity.Connecting
		idle       = connectivity.Idle
		failure    = connectivity.TransientFailure
		shutdown   = connectivity.Shutdown
	)
	f := newFixture(t, endpointsharding.Options{DisableAutoReconnect: true})
	f.resolve("a", "b", "c")
	for _, tt := range []struct {
		a, b, c connectivity.State
		want    connectivity.State
		picks   []string
	}{
		{ready, ready, connecting, ready, []string{"a", "b"}},
		{failure, ready, idle, ready, []string{"b"}},
		{connecting, idle, failure, connecting, []string{"a"}},
		{idle, failure, idle, idle, []string{"a", "c"}},
		{failure, failure, failure, failure, []string{"a", "b", "c"}},
		{shutdown, shutdown, shutdown, failure, []string{"a", "b", "c"}},
	} {
		f.child("a").report(tt.a)
		f.child("b").report(tt.b)
		f.child("c").report(tt.c)
		f.want(tt.want, tt.picks...)
	}
}

func TestEndpointsChange(t *testing.T) {
	f := newFixture(t, endpointsharding.Options{})
	f.resolve("a", "b")
	a, b := f.child("a"), f.child("b")
	f.resolve("b", "c")
	if !a.closed || b.closed || len(b.states) != 2 || len(f.built) != 3 {
		t.Errorf("closed: a %t, b %t; b has %d states; %d were built", a.closed, b.closed, len(b.states), len(f.built))
	}
	_, before := f.cc.State()
	a.report(connectivity.Ready)
	if _, after := f.cc.State(); after != before {
		t.Error("a child that is gone still counts")
	}
	if err := f.lb.UpdateClientConnState(state()); !errors.Is(err, balancer.ErrBadResolverState) {
		t.Errorf("no endpoints: %v", err)
	}
	if !b.closed {
		t.Error("b lives without its endpoint")
	}
	f.want(connectivity.TransientFailure, "no children to pick from")
}

func TestErrors(t *testing.T) {
	f := newFixture(t, endpointsharding.Options{})
	f.lb.ResolverError(status.Error(codes.NotFound, "no such host"))
	f.want(connectivity.TransientFailure, "rpc error: code = NotFound desc = no such host")

	f.resolve("a", "b")
	_, before := f.cc.State()
	f.lb.ResolverError(errors.New("flaky"))
	if _, after := f.cc.State(); after != before+1 || len(f.child("a").errs) != 1 || len(f.child("b").errs) != 1 {
		t.Errorf("children heard of %v and %v, %d reports", f.child("a").errs, f.child("b").errs, after-before)
	}

	f.child("a").fails = balancer.ErrBadResolverState
	if err := f.lb.UpdateClientConnState(state("a", "b")); !errors.Is(err, balancer.ErrBadResolverState) {
		t.Errorf("a child fails: %v", err)
	}
	if n := len(f.child("b").states); n != 2 {
		t.Errorf("the other child heard %d updates", n)
	}
}

func TestIdleChildren(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, endpointsharding.Options{DisableAutoReconnect: disabled})
			f.resolve("a", "b")
			f.child("a").report(connectivity.Idle)
			synctest.Wait()
			want := 1
			if disabled {
				want = 0
			}
			if got := f.child("a").exits; got != want || f.child("b").exits != 0 {
				t.Errorf("disabled %t: %d exits, and %d of the other", disabled, got, f.child("b").exits)
			}
			f.lb.ExitIdle()
			if got := f.child("a").exits; got != want+1 {
				t.Errorf("disabled %t: %d exits", disabled, got)
			}
		})
	}
}

func TestChildStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, endpointsharding.Options{})
		f.resolve("a", "b", "c")
		f.child("b").report(connectivity.Ready)
		last, _ := f.cc.State()
		states := endpointsharding.ChildStatesFromPicker(last.Picker)
		if len(states) != 3 {
			t.Fatalf("%d states", len(states))
		}
		for i, addr := range []string{"a", "b", "c"} {
			want := connectivity.Connecting
			if addr == "b" {
				want = connectivity.Ready
			}
			if s := states[i]; s.Endpoint.Addresses[0].Addr != addr || s.State.ConnectivityState != want {
				t.Errorf("state %d: %v of %v", i, s.State.ConnectivityState, s.Endpoint)
			}
		}
		a := f.child("a")
		states[0].ExitIdle()
		synctest.Wait()
		if a.exits != 1 {
			t.Errorf("%d exits", a.exits)
		}
		f.lb.Close()
		states[0].ExitIdle()
		synctest.Wait()
		if a.exits != 1 || !a.closed {
			t.Errorf("after Close: %d exits, closed %t", a.exits, a.closed)
		}
		a.report(connectivity.Ready)
		if again, _ := f.cc.State(); again != last {
			t.Error("a report after Close")
		}
	})
	if got := endpointsharding.ChildStatesFromPicker(base.NewErrPicker(nil)); got != nil {
		t.Errorf("states of another picker: %v", got)
	}
}

// laterConn has its balancer build children when they are needed.
type laterConn struct{ *lbtest.ClientConn }

func (laterConn) ChildrenLater() later.Mark { return later.Mark{} }

func newLaterFixture(t *testing.T) *fixture {
	f := &fixture{T: t, cc: &lbtest.ClientConn{}}
	f.lb = endpointsharding.NewBalancer(laterConn{f.cc}, balancer.BuildOptions{}, func(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
		if f.pause != nil {
			f.pause()
		}
		p := &policy{cc: cc, fails: f.fails}
		f.built = append(f.built, p)
		return p
	}, endpointsharding.Options{DisableAutoReconnect: true})
	return f
}

// exitIdle tells the child of the index among those reported last, and waits for it.
func (f *fixture) exitIdle(index int) {
	last, _ := f.cc.State()
	endpointsharding.ChildStatesFromPicker(last.Picker)[index].ExitIdle()
	synctest.Wait()
}

func TestChildrenAreBuiltLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLaterFixture(t)
		f.resolve("a", "b", "c")
		f.lb.ResolverError(errors.New("forgotten"))
		f.resolve("b,x", "c", "d")
		lost := errors.New("lost")
		f.lb.ResolverError(lost)
		last, n := f.cc.State()
		if last.ConnectivityState != connectivity.Idle || n != 4 || len(f.built) != 0 {
			t.Fatalf("%v, %d reports, %d children", last.ConnectivityState, n, len(f.built))
		}
		if _, err := last.Picker.Pick(balancer.PickInfo{}); err != balancer.ErrNoSubConnAvailable {
			t.Errorf("Pick: %v", err)
		}
		f.exitIdle(0)
		f.exitIdle(0)
		if len(f.built) != 1 {
			t.Fatalf("%d children", len(f.built))
		}
		b := f.built[0]
		if len(b.states) != 1 || len(b.states[0].ResolverState.Addresses) != 2 || b.addr() != "b" || !slices.Equal(b.errs, []error{lost}) || b.exits != 2 {
			t.Errorf("the child heard %+v, %v, %d exits", b.states, b.errs, b.exits)
		}
		f.want(connectivity.Connecting, "b")
		// It is told now, as those that are still not built.
		f.resolve("b,x", "c")
		f.lb.ResolverError(lost)
		if len(b.states) != 2 || len(b.errs) != 2 || len(f.built) != 1 {
			t.Errorf("the child heard %d states, %d errors; %d are built", len(b.states), len(b.errs), len(f.built))
		}
		f.resolve("b,x", "c")
		f.lb.ExitIdle()
		if len(f.built) != 2 || f.built[1].addr() != "c" || len(f.built[1].errs) != 0 || f.built[1].exits != 1 || b.exits != 3 {
			t.Errorf("%d are built after ExitIdle", len(f.built))
		}
		f.lb.Close()
		if !b.closed || !f.built[1].closed {
			t.Error("a child is not closed")
		}
	})
}

func TestNeverNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLaterFixture(t)
		f.resolve("a", "b")
		last, _ := f.cc.State()
		states := endpointsharding.ChildStatesFromPicker(last.Picker)
		f.resolve("b")
		states[0].ExitIdle() // it is gone
		synctest.Wait()
		f.lb.Close()
		states[1].ExitIdle()
		synctest.Wait()
		if len(f.built) != 0 {
			t.Errorf("%d children", len(f.built))
		}
	})
}

func TestBadStateIsResolvedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLaterFixture(t)
		f.fails = balancer.ErrBadResolverState
		f.resolve("a")
		f.exitIdle(0)
		if n := f.cc.Resolves(); n != 1 {
			t.Errorf("%d calls of ResolveNow", n)
		}
		if err := f.lb.UpdateClientConnState(state("a")); !errors.Is(err, balancer.ErrBadResolverState) {
			t.Errorf("built: %v", err)
		}
	})
}

// What comes while a child is built reaches it afterwards, and once.
func TestNewsWhileAChildIsBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLaterFixture(t)
		// meanwhile has something run while a child is built, or soon afterwards.
		meanwhile := func(run func()) {
			f.pause = func() {
				go run()
				for range 100 {
					runtime.Gosched()
				}
			}
		}
		lost := errors.New("lost")
		meanwhile(func() {
			f.resolve("a")
			f.lb.ResolverError(lost)
			f.resolve("a")
		})
		f.resolve("a")
		f.exitIdle(0)
		if a := f.child("a"); len(f.built) != 1 || len(a.states) != 3 || !slices.Equal(a.errs, []error{lost}) || a.exits != 1 {
			t.Errorf("%d are built; the child heard %d states, %v, %d exits", len(f.built), len(a.states), a.errs, a.exits)
		}
		f.want(connectivity.Connecting, "a")

		meanwhile(func() {
			f.resolve("a")
			f.lb.Close()
		})
		f.resolve("a", "b")
		f.exitIdle(1)
		if b := f.built[1]; !b.closed || len(b.states) > 1 {
			t.Errorf("a child that went: closed %t; it heard %d states", b.closed, len(b.states))
		}
	})
}
