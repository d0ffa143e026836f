// SPDX-License-Identifier: Apache-2.0

package weightedtarget

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/hierarchy"
	"google.golang.org/grpc/internal/leakcheck"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) {
	balancer.Register(lbtest.Leaf{LeafName: "leaf"})
	balancer.Register(lbtest.Leaf{LeafName: "twig"})
	balancer.Register(spyBuilder{})
	leakcheck.Main(m)
}

// spyBuilder builds policies that keep what they get.
type spyBuilder struct{}

type spy struct{ balancer.Balancer }

var spied map[string]balancer.ClientConnState // by locality

func (spyBuilder) Name() string { return "spy" }

func (spyBuilder) Build(balancer.ClientConn, balancer.BuildOptions) balancer.Balancer { return spy{} }

func (spy) UpdateClientConnState(s balancer.ClientConnState) error {
	spied[LocalityFromResolverState(s.ResolverState)] = s
	return nil
}

func (spy) Close() {}

type fixture struct {
	*testing.T
	cc *lbtest.ClientConn
	lb balancer.Balancer
}

func newFixture(t *testing.T) *fixture {
	cc := &lbtest.ClientConn{}
	return &fixture{T: t, cc: cc, lb: balancer.Get(Name).Build(cc, balancer.BuildOptions{})}
}

// resolve takes a configuration, and endpoints as "target/address".
func (f *fixture) resolve(js string, endpoints ...string) error {
	f.Helper()
	config, err := builder{}.ParseConfig([]byte(js))
	if err != nil {
		f.Fatal(err)
	}
	var s resolver.State
	for _, e := range endpoints {
		target, addr, _ := strings.Cut(e, "/")
		s.Endpoints = append(s.Endpoints, hierarchy.Set(
			resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}}, []string{target}))
	}
	return f.lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: config})
}

// picked returns the addresses that come up in many picks.
func (f *fixture) picked() []string {
	f.Helper()
	last, _ := f.cc.State()
	addrs := make(map[string]bool)
	for range 200 {
		r, err := last.Picker.Pick(balancer.PickInfo{})
		if err != nil {
			f.Fatal(err)
		}
		addrs[r.SubConn.(*lbtest.SubConn).Addr()] = true
	}
	return slices.Sorted(maps.Keys(addrs))
}

const ab = `{"targets": {
	"a": {"weight": 1, "childPolicy": [{"leaf": {}}]},
	"b": {"weight": 2, "childPolicy": [{"unknown": {}}, {"leaf": {}}]}}}`

func TestTargets(t *testing.T) {
	f := newFixture(t)
	if err := f.resolve(ab, "a/1", "b/2"); err != nil {
		t.Fatal(err)
	}
	if last, n := f.cc.State(); last.ConnectivityState != connectivity.Connecting || n != 1 {
		t.Errorf("%v, %d reports", last.ConnectivityState, n)
	}
	one, two := f.cc.SubConn("1"), f.cc.SubConn("2")
	one.Report(connectivity.Ready, nil)
	if got := f.picked(); !slices.Equal(got, []string{"1"}) {
		t.Errorf("picked %q", got)
	}
	two.Report(connectivity.Ready, nil)
	if got := f.picked(); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("picked %q", got)
	}
	// One goes, and one comes.
	err := f.resolve(`{"targets": {
		"b": {"weight": 1, "childPolicy": [{"leaf": {}}]},
		"c": {"weight": 1, "childPolicy": [{"leaf": {}}]}}}`, "a/1", "b/2", "c/3")
	if err != nil || !one.IsShutdown() || two.IsShutdown() || len(f.cc.SubConns()) != 3 {
		t.Errorf("%v; shut down: %t, %t; %d SubConns", err, one.IsShutdown(), two.IsShutdown(), len(f.cc.SubConns()))
	}
	if got := f.picked(); !slices.Equal(got, []string{"2"}) {
		t.Errorf("picked %q", got)
	}
	// One without a policy takes no RPCs any more.
	err = f.resolve(`{"targets": {"b": {"weight": 1}, "c": {"weight": 1, "childPolicy": [{"leaf": {}}]}}}`, "b/2", "c/3")
	if err == nil || !two.IsShutdown() {
		t.Errorf("%v; shut down: %t", err, two.IsShutdown())
	}
	if err := f.resolve(`{"targets": {
		"b": {"weight": 1, "childPolicy": [{"leaf": {}}]},
		"c": {"weight": 1, "childPolicy": [{"leaf": {}}]}}}`, "b/2", "c/3"); err != nil {
		t.Error(err)
	}
	two = f.cc.SubConn("2")
	f.lb.ExitIdle()
	if n := f.cc.SubConn("3").Connects(); n != 2 {
		t.Errorf("%d connects", n)
	}
	f.lb.Close()
	_, before := f.cc.State()
	two.Report(connectivity.Idle, nil)
	if _, after := f.cc.State(); after != before || !two.IsShutdown() {
		t.Errorf("after Close: %d reports, shut down %t", after-before, two.IsShutdown())
	}
}

func TestPolicyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		if err := f.resolve(`{"targets": {"a": {"weight": 1, "childPolicy": [{"leaf": {}}]}}}`, "a/1"); err != nil {
			t.Fatal(err)
		}
		old := f.cc.SubConn("1")
		old.Report(connectivity.Ready, nil)
		if err := f.resolve(`{"targets": {"a": {"weight": 1, "childPolicy": [{"twig": {}}]}}}`, "a/2"); err != nil {
			t.Fatal(err)
		}
		if got := f.picked(); !slices.Equal(got, []string{"1"}) || old.IsShutdown() {
			t.Errorf("picked %q before the new policy is ready", got)
		}
		f.cc.SubConn("2").Report(connectivity.Ready, nil)
		synctest.Wait()
		if got := f.picked(); !slices.Equal(got, []string{"2"}) || !old.IsShutdown() {
			t.Errorf("picked %q after that; the old one is shut down: %t", got, old.IsShutdown())
		}
		f.lb.Close()
	})
}

func TestWhatChildrenGet(t *testing.T) {
	spied = make(map[string]balancer.ClientConnState)
	f := newFixture(t)
	js := strings.ReplaceAll(strings.ReplaceAll(ab, "leaf", "spy"), "unknown", "leaf2")
	if err := f.resolve(js, "a/1", "b/2", "a/3", "c/4"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"a": {"1", "3"}, "b": {"2"}} {
		s := spied[name].ResolverState
		var addrs, flat []string
		for _, e := range s.Endpoints {
			addrs = append(addrs, e.Addresses[0].Addr)
		}
		for _, a := range s.Addresses {
			flat = append(flat, a.Addr)
		}
		if !slices.Equal(addrs, want) || !slices.Equal(flat, want) {
			t.Errorf("%s: endpoints %q, addresses %q", name, addrs, flat)
		}
	}
	if len(spied) != 2 {
		t.Errorf("localities %v", slices.Collect(maps.Keys(spied)))
	}
	if got := LocalityFromResolverState(resolver.State{}); got != "" {
		t.Errorf("locality %q of no target", got)
	}
	f.lb.Close()
}

func TestErrors(t *testing.T) {
	f := newFixture(t)
	lost := status.Error(codes.NotFound, "lost")
	f.lb.ResolverError(lost)
	last, _ := f.cc.State()
	_, err := last.Picker.Pick(balancer.PickInfo{})
	if err == nil || err.Error() != lost.Error() || last.ConnectivityState != connectivity.TransientFailure {
		t.Errorf("before there are children: %v, %v", last.ConnectivityState, err)
	}
	if _, ok := status.FromError(err); ok {
		t.Errorf("%v has a status", err)
	}
	if err := f.lb.UpdateClientConnState(balancer.ClientConnState{}); !errors.Is(err, balancer.ErrBadResolverState) {
		t.Errorf("no configuration: %v", err)
	}
	// The target without an endpoint fails, the other works.
	if err := f.resolve(ab, "a/1"); !errors.Is(err, balancer.ErrBadResolverState) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("a target without an endpoint: %v", err)
	}
	f.lb.ResolverError(lost)
	f.cc.SubConn("1").Report(connectivity.Ready, nil)
	if got := f.picked(); !slices.Equal(got, []string{"1"}) {
		t.Errorf("picked %q", got)
	}
	for name, target := range map[string]Target{"no policy": {}, "none such": {ChildPolicy: &unknown}} {
		config := &LBConfig{Targets: map[string]Target{"a": target}}
		if err := f.lb.UpdateClientConnState(balancer.ClientConnState{BalancerConfig: config}); !errors.Is(err, balancer.ErrBadResolverState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.lb.Close()
}

var unknown = iserviceconfig.BalancerConfig{Name: "unknown"}

func TestBadConfigs(t *testing.T) {
	for _, js := range []string{
		`[]`,
		`{"targets": []}`,
		`{"targets": {"a": {"weight": 1, "childPolicy": []}}}`,
		`{"targets": {"a": {"weight": 1, "childPolicy": [{"unknown": {}}]}}}`,
		`{"targets": {"a": {"weight": -1, "childPolicy": [{"leaf": {}}]}}}`,
		`{"targets": {"a": {"weight": 4294967296, "childPolicy": [{"leaf": {}}]}}}`,
		`{"targets": {"a": {"weight": 1, "childPolicy": [{"weighted_target_experimental": []}]}}}`,
	} {
		if config, err := (builder{}).ParseConfig([]byte(js)); err == nil {
			t.Errorf("%s: %v, want an error", js, config)
		}
	}
}
