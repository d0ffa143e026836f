// SPDX-License-Identifier: Apache-2.0

package leastrequest

import (
	"errors"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestParseConfig(t *testing.T) {
	parser := balancer.Get(Name).(balancer.ConfigParser)
	for _, tt := range []struct {
		js   string
		want uint32 // 0: an error
	}{
		{`{}`, 2},
		{`{"choiceCount": 2}`, 2},
		{`{"choiceCount": 7}`, 7},
		{`{"choiceCount": 10}`, 10},
		{`{"choiceCount": 11}`, 10},
		{`{"choiceCount": 4294967295}`, 10},
		{`{"unknown": 1}`, 2},
		{`{"choiceCount": 1}`, 0},
		{`{"choiceCount": 0}`, 0},
		{`{"choiceCount": -1}`, 0},
		{`{"choiceCount": "3"}`, 0},
		{`[]`, 0},
	} {
		config, err := parser.ParseConfig([]byte(tt.js))
		if tt.want == 0 {
			if err == nil {
				t.Errorf("%s: %v, want an error", tt.js, config)
			}
			continue
		}
		if got, ok := config.(*LBConfig); err != nil || !ok || got.ChoiceCount != tt.want {
			t.Errorf("%s: %v, %v; want %d", tt.js, config, err, tt.want)
		}
	}
}

// script returns the numbers it was made of, one after the other.
func script(numbers ...int) func(int) int {
	return func(int) int {
		n := numbers[0]
		numbers = numbers[1:]
		return n
	}
}

func TestChoose(t *testing.T) {
	p := &picker{choices: 3}
	for _, active := range []int64{5, 3, 3, 1} {
		s := newServer()
		s.active.Store(active)
		p.candidates = append(p.candidates, candidate{server: s})
	}
	for _, tt := range []struct {
		samples [3]int
		want    int
	}{
		{[3]int{0, 1, 2}, 1}, // the first of equals
		{[3]int{2, 1, 0}, 2},
		{[3]int{0, 0, 0}, 0}, // the same one, always
		{[3]int{3, 1, 0}, 3},
		{[3]int{1, 0, 3}, 3},
	} {
		if got := p.choose(script(tt.samples[:]...)); got.server != p.candidates[tt.want].server {
			t.Errorf("%v: not %d", tt.samples, tt.want)
		}
	}
}

type foreignConfig struct {
	serviceconfig.LoadBalancingConfig
}

type fixture struct {
	*testing.T
	cc *lbtest.ClientConn
	lb balancer.Balancer
}

func newFixture(t *testing.T) *fixture {
	lbtest.UseLeaf(t, pickfirst.Name)
	cc := &lbtest.ClientConn{}
	return &fixture{T: t, cc: cc, lb: balancer.Get(Name).Build(cc, balancer.BuildOptions{})}
}

func (f *fixture) resolve(config serviceconfig.LoadBalancingConfig, addrs ...string) error {
	var s resolver.State
	for _, a := range addrs {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a}}})
	}
	return f.lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: config})
}

// pick returns the address that was picked and how to end the RPC.
func (f *fixture) pick() (addr string, done func(balancer.DoneInfo)) {
	f.Helper()
	last, _ := f.cc.State()
	r, err := last.Picker.Pick(balancer.PickInfo{})
	if err != nil {
		f.Fatal(err)
	}
	return r.SubConn.(*lbtest.SubConn).Addr(), r.Done
}

func TestFewestRequests(t *testing.T) {
	f := newFixture(t)
	// Ten samples of two miss one of them in one of a thousand picks.
	if err := f.resolve(&LBConfig{ChoiceCount: 10}, "a", "b"); err != nil {
		t.Fatal(err)
	}
	f.cc.SubConn("a").Report(connectivity.Ready, nil)
	for range 100 {
		if addr, _ := f.pick(); addr != "a" {
			t.Fatalf("picked %s, which is not ready", addr)
		}
	}
	f.cc.SubConn("b").Report(connectivity.Ready, nil)
	count := map[string]int{}
	for range 50 {
		addr, _ := f.pick()
		count[addr]++
	}
	if count["b"] < 45 {
		t.Errorf("with 100 RPCs on a, of 50 %v", count)
	}
	// The counts live on when the endpoints are resolved again.
	if err := f.resolve(&LBConfig{ChoiceCount: 10}, "b", "a", "c"); err != nil {
		t.Fatal(err)
	}
	if addr, _ := f.pick(); addr != "b" {
		if addr, _ = f.pick(); addr != "b" {
			t.Errorf("picked %s twice", addr)
		}
	}
	// An endpoint that was not ready begins anew.
	f.cc.SubConn("a").Report(connectivity.TransientFailure, errors.New("lost"))
	f.cc.SubConn("a").Report(connectivity.Ready, nil)
	clear(count)
	for range 20 {
		addr, _ := f.pick()
		count[addr]++
	}
	if count["a"] < 15 {
		t.Errorf("a is back without an RPC, of 20 %v", count)
	}
}

func TestDone(t *testing.T) {
	f := newFixture(t)
	if err := f.resolve(nil, "a"); err != nil {
		t.Fatal(err)
	}
	f.cc.SubConn("a").Report(connectivity.Ready, nil)
	last, _ := f.cc.State()
	active := &last.Picker.(*picker).candidates[0].active
	_, done1 := f.pick()
	_, done2 := f.pick()
	if n := active.Load(); n != 2 {
		t.Errorf("%d active", n)
	}
	done1(balancer.DoneInfo{})
	done2(balancer.DoneInfo{Err: errors.New("any")})
	if n := active.Load(); n != 0 {
		t.Errorf("%d active after all", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		_, done := f.pick()
		done(balancer.DoneInfo{})
	}); n > 0 {
		t.Errorf("%v allocations a pick", n)
	}
}

// stub picks with a Done of its own, or fails.
type stub struct {
	err   error
	dones int
}

func (s *stub) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{Done: func(balancer.DoneInfo) { s.dones++ }}, s.err
}

func TestChildsDone(t *testing.T) {
	child := &stub{}
	c := candidate{newServer(), child}
	p := &picker{candidates: []candidate{c}, choices: 2}
	r, err := p.Pick(balancer.PickInfo{})
	if err != nil || c.active.Load() != 1 {
		t.Fatalf("%v, %d active", err, c.active.Load())
	}
	r.Done(balancer.DoneInfo{})
	if child.dones != 1 || c.active.Load() != 0 {
		t.Errorf("%d calls of the child's Done, %d active", child.dones, c.active.Load())
	}
	child.err = balancer.ErrNoSubConnAvailable
	if _, err := p.Pick(balancer.PickInfo{}); err != child.err || c.active.Load() != 0 {
		t.Errorf("a pick that fails: %v, %d active", err, c.active.Load())
	}
}

func TestOtherStatesPass(t *testing.T) {
	f := newFixture(t)
	if err := f.resolve(nil); !errors.Is(err, balancer.ErrBadResolverState) {
		t.Errorf("no endpoints: %v", err)
	}
	if last, _ := f.cc.State(); last.ConnectivityState != connectivity.TransientFailure {
		t.Errorf("no endpoints: %v", last.ConnectivityState)
	}
	if err := f.resolve(nil, "a"); err != nil {
		t.Fatal(err)
	}
	if last, _ := f.cc.State(); last.ConnectivityState != connectivity.Connecting {
		t.Errorf("at first: %v", last.ConnectivityState)
	}
	want := errors.New("refused")
	f.cc.SubConn("a").Report(connectivity.TransientFailure, want)
	last, _ := f.cc.State()
	if _, err := last.Picker.Pick(balancer.PickInfo{}); err != want {
		t.Errorf("Pick: %v", err)
	}
	if err := f.resolve(foreignConfig{}, "a"); !errors.Is(err, balancer.ErrBadResolverState) {
		t.Errorf("a foreign configuration: %v", err)
	}
	f.lb.Close()
	if !f.cc.SubConn("a").IsShutdown() {
		t.Error("a SubConn outlives the balancer")
	}
}
