// SPDX-License-Identifier: Apache-2.0

package gracefulswitch

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// policy is a balancer that does what a test says.
type policy struct {
	cc       balancer.ClientConn
	configs  []serviceconfig.LoadBalancingConfig
	errs     []error
	exits    int
	closed   atomic.Bool
	oldStyle []balancer.SubConnState
	inUpdate func()
	inClose  chan struct{} // if not nil, Close waits until it is closed
}

func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	p.configs = append(p.configs, s.BalancerConfig)
	if p.inUpdate != nil {
		p.inUpdate()
	}
	return nil
}

func (p *policy) ResolverError(err error) { p.errs = append(p.errs, err) }

func (p *policy) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	p.oldStyle = append(p.oldStyle, s)
}

func (p *policy) ExitIdle() { p.exits++ }

func (p *policy) Close() {
	if p.inClose != nil {
		<-p.inClose
	}
	p.closed.Store(true)
}

// report reports a state with a picker that returns the policy's name as an error.
func (p *policy) report(s connectivity.State, text string) {
	p.cc.UpdateState(balancer.State{ConnectivityState: s, Picker: base.NewErrPicker(errors.New(text))})
}

// policyBuilder builds policies, and keeps the last.
type policyBuilder struct {
	name    string
	last    *policy
	inBuild func(*policy)
	refuses bool
}

func (b *policyBuilder) Name() string { return b.name }

func (b *policyBuilder) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	if b.refuses {
		return nil
	}
	b.last = &policy{cc: cc}
	if b.inBuild != nil {
		b.inBuild(b.last)
	}
	return b.last
}

type fixture struct {
	*testing.T
	cc   *lbtest.ClientConn
	lb   *Balancer
	a, b *policyBuilder
}

// newFixture returns a balancer whose policy is A, in the given state.
func newFixture(t *testing.T, s connectivity.State) *fixture {
	f := &fixture{T: t, cc: &lbtest.ClientConn{}, a: &policyBuilder{name: "A"}, b: &policyBuilder{name: "B"}}
	f.lb = New(f.cc, balancer.BuildOptions{})
	f.switchTo(f.a)
	f.a.last.report(s, "A")
	return f
}

func (f *fixture) switchTo(b *policyBuilder) {
	f.Helper()
	if err := f.lb.SwitchTo(b); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) want(s connectivity.State, picker string) {
	f.Helper()
	last, _ := f.cc.State()
	if last.ConnectivityState != s {
		f.Errorf("state %v, want %v", last.ConnectivityState, s)
	}
	if _, err := last.Picker.Pick(balancer.PickInfo{}); err == nil || err.Error() != picker {
		f.Errorf("picker of %v, want %s", err, picker)
	}
}

func TestWhenThePendingPolicyTakesOver(t *testing.T) {
	const (
		idle       = connectivity.Idle
		connecting = connectivity.Connecting
		ready      = connectivity.Ready
		failure    = connectivity.TransientFailure
	)
	for _, tt := range []struct {
		current, pending connectivity.State
		want             string
	}{
		{ready, connecting, "A"},
		{ready, ready, "B"},
		{ready, failure, "B"},
		{ready, idle, "B"},
		{connecting, connecting, "B"},
		{failure, connecting, "B"},
		{idle, connecting, "B"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, tt.current)
			f.switchTo(f.b)
			f.want(tt.current, "A")
			f.b.last.report(tt.pending, "B")
			state := tt.current
			if tt.want == "B" {
				state = tt.pending
			}
			f.want(state, tt.want)
			synctest.Wait()
			if closed := f.a.last.closed.Load(); closed != (tt.want == "B") {
				t.Errorf("%v, %v: the old policy is closed: %t", tt.current, tt.pending, closed)
			}
			f.a.last.report(ready, "A again")
			if tt.want == "B" {
				f.want(state, "B")
			}
			f.lb.Close()
			if !f.a.last.closed.Load() || !f.b.last.closed.Load() {
				t.Error("Close left a policy")
			}
		})
	}
}

func TestCurrentLeavesReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		f.switchTo(f.b)
		f.b.last.report(connectivity.Connecting, "B")
		f.a.last.report(connectivity.Ready, "A2")
		f.want(connectivity.Ready, "A2")
		f.a.last.report(connectivity.TransientFailure, "A3")
		f.want(connectivity.Connecting, "B")
		f.lb.Close()
	})
}

func TestCurrentLeavesReadyBeforePendingReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		f.switchTo(f.b)
		f.a.last.report(connectivity.Idle, "A")
		f.want(connectivity.Connecting, balancer.ErrNoSubConnAvailable.Error())
		f.lb.Close()
	})
}

func TestPendingIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		c := &policyBuilder{name: "C"}
		f.switchTo(f.b)
		f.switchTo(c)
		if !f.b.last.closed.Load() {
			t.Error("the pending policy is not closed")
		}
		f.b.last.report(connectivity.Ready, "B")
		f.want(connectivity.Ready, "A")
		c.last.report(connectivity.Ready, "C")
		f.want(connectivity.Ready, "C")
		f.lb.Close()
	})
}

// TestCloseWaits: after Close no policy runs, nor one that lost its place earlier.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		f.a.last.inClose = make(chan struct{})
		f.switchTo(f.b)
		f.b.last.report(connectivity.Ready, "B")
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			f.lb.Close()
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close has returned while a policy is being closed")
		default:
		}
		close(f.a.last.inClose)
		<-closed
		if !f.a.last.closed.Load() {
			t.Error("the old policy is not closed")
		}
	})
}

func TestReportsDuringBuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		f.b.inBuild = func(p *policy) { p.report(connectivity.Ready, "B") }
		f.switchTo(f.b)
		f.want(connectivity.Ready, "B")
		f.lb.Close()
	})
}

func TestSwitchDuringTheOldPolicysCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		sc := f.newSubConn(f.a.last, func(balancer.SubConnState) {
			// The old policy reports from a listener, and so loses its place in the
			// middle of a call.
			f.a.last.report(connectivity.Idle, "A")
			if f.a.last.closed.Load() {
				t.Error("closed during a call")
			}
		})
		f.switchTo(f.b)
		f.b.last.report(connectivity.Connecting, "B")
		sc.Report(connectivity.Idle, nil)
		f.want(connectivity.Connecting, "B")
		synctest.Wait()
		if !f.a.last.closed.Load() || !sc.IsShutdown() {
			t.Error("the old policy or its SubConn is still there")
		}
		f.lb.Close()
	})
}

// newSubConn has a policy make a SubConn.
func (f *fixture) newSubConn(p *policy, listener func(balancer.SubConnState)) *lbtest.SubConn {
	f.Helper()
	//lint:ignore SA1019 one address
	sc, err := p.cc.NewSubConn([]resolver.Address{{Addr: "x"}}, balancer.NewSubConnOptions{StateListener: listener})
	if err != nil {
		f.Fatal(err)
	}
	return sc.(*lbtest.SubConn)
}

func TestSubConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		heard := 0
		kept := f.newSubConn(f.a.last, func(balancer.SubConnState) { heard++ })
		old := f.newSubConn(f.a.last, nil)
		gone := f.newSubConn(f.a.last, func(balancer.SubConnState) {})
		kept.Report(connectivity.Connecting, nil)
		old.Report(connectivity.Connecting, nil)
		gone.Report(connectivity.Shutdown, nil)
		if heard != 1 || len(f.a.last.oldStyle) != 1 {
			t.Errorf("heard %d by listener, %d by method", heard, len(f.a.last.oldStyle))
		}

		f.switchTo(f.b)
		f.b.last.report(connectivity.Ready, "B")
		synctest.Wait()
		if !kept.IsShutdown() || !old.IsShutdown() || gone.IsShutdown() {
			t.Error("not exactly the SubConns that were left are shut down")
		}
		kept.Report(connectivity.Shutdown, nil)
		if heard != 1 {
			t.Error("a policy that is closed heard of its SubConn")
		}
		//lint:ignore SA1019 one address
		if sc, err := f.a.last.cc.NewSubConn([]resolver.Address{{Addr: "late"}}, balancer.NewSubConnOptions{}); err == nil {
			t.Errorf("a policy that is closed got %v", sc)
		}
		if late := f.cc.SubConn("late"); !late.IsShutdown() {
			t.Error("a SubConn that nobody owns is left")
		}
		f.lb.Close()
	})
}

func TestOnlyTheLatestResolves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		f.a.last.cc.ResolveNow(resolver.ResolveNowOptions{})
		f.switchTo(f.b)
		f.a.last.cc.ResolveNow(resolver.ResolveNowOptions{})
		f.b.last.cc.ResolveNow(resolver.ResolveNowOptions{})
		if n := f.cc.Resolves(); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		f.lb.Close()
	})
}

func TestCallsGoToTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, connectivity.Ready)
		config := struct {
			serviceconfig.LoadBalancingConfig
		}{}
		for _, b := range []*policyBuilder{f.a, f.b, f.b} {
			err := f.lb.UpdateClientConnState(balancer.ClientConnState{BalancerConfig: &Config{Child: b, ChildConfig: config}})
			if err != nil {
				t.Error(err)
			}
		}
		f.lb.ResolverError(errors.New("x"))
		f.lb.ExitIdle()
		if a, b := f.a.last, f.b.last; len(a.configs) != 1 || len(b.configs) != 2 || b.configs[1] != config ||
			len(a.errs) != 0 || len(b.errs) != 1 || a.exits != 0 || b.exits != 1 {
			t.Errorf("A %+v\nB %+v", a, b)
		}
		f.lb.Close()
	})
}

func TestBeforeAndAfter(t *testing.T) {
	cc := &lbtest.ClientConn{}
	lb := New(cc, balancer.BuildOptions{})
	lb.ExitIdle()
	lb.ResolverError(status.Error(codes.NotFound, "no such host"))
	s, _ := cc.State()
	if s.ConnectivityState != connectivity.TransientFailure {
		t.Errorf("state %v", s.ConnectivityState)
	}
	if _, err := s.Picker.Pick(balancer.PickInfo{}); err == nil {
		t.Error("Pick: no error")
	} else if status.Code(err) != codes.NotFound {
		t.Errorf("Pick: %v, want the resolver's status", err)
	}
	if err := lb.UpdateClientConnState(balancer.ClientConnState{}); err == nil {
		t.Error("an update without a policy")
	}
	if err := lb.SwitchTo(&policyBuilder{refuses: true}); err == nil {
		t.Error("a switch to nothing")
	}
	if lb.latest() != nil {
		t.Error("a policy that was not built is left")
	}
	lb.Close()
	lb.Close()
	if err := lb.SwitchTo(&policyBuilder{}); err == nil {
		t.Error("a switch after Close")
	}
	lb.ExitIdle()
}

// parser is a builder whose configuration is a JSON string.
type parser struct {
	policyBuilder
}

type parsedConfig struct {
	serviceconfig.LoadBalancingConfig
	text string
}

func (*parser) ParseConfig(j json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := parsedConfig{}
	return c, json.Unmarshal(j, &c.text)
}

func TestParseConfig(t *testing.T) {
	balancer.Register(&policyBuilder{name: "test_plain"})
	balancer.Register(&parser{policyBuilder{name: "test_parser"}})
	for _, tt := range []struct {
		in, child, err string
	}{
		{`[{"test_plain":{}}]`, "test_plain", ""},
		{`[{"test_plain":{"ignored":1}}]`, "test_plain", ""},
		{`[{"none":1},{"test_plain":{}},{"test_parser":""}]`, "test_plain", ""},
		{`[{"test_parser":"x"}]`, "test_parser", ""},
		{`[{"test_parser":1}]`, "", "test_parser"},
		{`[{"none":{}},{"nil":{}}]`, "", `no supported policies found in config: [{"none":{}},{"nil":{}}]`},
		{`[]`, "", "no supported policies found in config: []"},
		{`[{}]`, "", "index 0"},
		{`[{"a":{},"b":{}}]`, "", "a JSON struct with one entry"},
		{`{}`, "", "json: cannot unmarshal object"},
		{``, "", "JSON"},
	} {
		c, err := ParseConfig(json.RawMessage(tt.in))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || c.Child.Name() != tt.child {
			t.Errorf("%s: %+v, %v", tt.in, c, err)
			continue
		}
		if parsed, ok := c.ChildConfig.(parsedConfig); ok != (tt.child == "test_parser") || ok && parsed.text != "x" {
			t.Errorf("%s: configuration %v", tt.in, c.ChildConfig)
		}
	}
}

// tidyBuilder is a builder whose policies look after their SubConns.
type tidyBuilder struct{ policyBuilder }

func (*tidyBuilder) Tidy() {}

func TestTidy(t *testing.T) {
	cc := &lbtest.ClientConn{}
	lb := New(cc, balancer.BuildOptions{})
	b := &tidyBuilder{policyBuilder{name: "A"}}
	if err := lb.SwitchTo(b); err != nil {
		t.Fatal(err)
	}
	heard := 0
	sc, err := b.last.cc.NewSubConn([]resolver.Address{{Addr: "a"}}, balancer.NewSubConnOptions{
		StateListener: func(balancer.SubConnState) { heard++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	cc.SubConn("a").Report(connectivity.Ready, nil)
	lb.Close()
	if !b.last.closed.Load() || cc.SubConn("a").IsShutdown() {
		t.Error("the SubConn is not the policy's business")
	}
	sc.Shutdown()
	if heard == 0 {
		t.Error("the listener is not called")
	}
}

// TestBuildOptions: a tree of policies keeps what it is built with once.
func TestBuildOptions(t *testing.T) {
	b := &policyBuilder{name: "A"}
	lb := New(&lbtest.ClientConn{}, balancer.BuildOptions{Authority: "x"})
	if err := lb.SwitchTo(b); err != nil {
		t.Fatal(err)
	}
	defer lb.Close()
	if got := buildoptions.Of(b.last.cc); got.Authority != "x" {
		t.Errorf("%+v", got)
	}
}

// TestBuildPanics: a policy that was not built is tried again with the next update, if the program recovers.
func TestBuildPanics(t *testing.T) {
	for _, pending := range []bool{false, true} {
		f := newFixture(t, connectivity.Ready)
		if !pending {
			f.lb = New(f.cc, balancer.BuildOptions{})
		}
		before := f.lb.latest()
		f.b.inBuild = func(*policy) { panic("no") }
		func() {
			defer func() { _ = recover() }()
			f.switchTo(f.b)
		}()
		if f.lb.latest() != before {
			t.Errorf("pending %t: a policy that was not built is left", pending)
		}
		f.b.inBuild = nil
		f.switchTo(f.b)
		f.b.last.report(connectivity.Ready, "B")
		f.want(connectivity.Ready, "B")
	}
}
