// SPDX-License-Identifier: Apache-2.0

package clustermanager

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/hierarchy"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) {
	balancer.Register(lbtest.Leaf{LeafName: "leaf"})
	leakcheck.Main(m)
}

type fixture struct {
	*testing.T
	cc *lbtest.ClientConn
	lb balancer.Balancer
}

// update gives the policy clusters, each with an endpoint of its name.
func (f *fixture) update(clusters ...string) {
	f.Helper()
	var endpoints []resolver.Endpoint
	children := map[string]any{}
	for _, name := range clusters {
		endpoints = append(endpoints, hierarchy.Set(resolver.Endpoint{Addresses: []resolver.Address{{Addr: name}}}, []string{name}))
		children[name] = map[string]any{"childPolicy": []any{map[string]any{"leaf": map[string]any{}}}}
	}
	js, err := json.Marshal(map[string]any{"children": children})
	if err != nil {
		f.Fatal(err)
	}
	config, err := builder{}.ParseConfig(js)
	if err != nil {
		f.Fatal(err)
	}
	if err := f.lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: resolver.State{Endpoints: endpoints}, BalancerConfig: config}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) pick(cluster string) (balancer.SubConn, error) {
	state, _ := f.cc.State()
	r, err := state.Picker.Pick(balancer.PickInfo{Ctx: call.With(context.Background(), &call.Info{Child: cluster})})
	return r.SubConn, err
}

func (f *fixture) wantState(want connectivity.State) {
	f.Helper()
	if s, _ := f.cc.State(); s.ConnectivityState != want {
		f.Errorf("state %v, want %v", s.ConnectivityState, want)
	}
}

func TestA31ClusterManager(t *testing.T) {
	f := &fixture{T: t, cc: &lbtest.ClientConn{}}
	f.lb = balancer.Get(Name).Build(f.cc, balancer.BuildOptions{})
	defer f.lb.Close()
	f.update("a", "b")
	if _, n := f.cc.State(); n != 1 {
		t.Errorf("%d reports of one update", n)
	}
	f.wantState(connectivity.Connecting)
	if _, err := f.pick("a"); !errors.Is(err, balancer.ErrNoSubConnAvailable) {
		t.Error(err)
	}
	f.cc.SubConn("a").Report(connectivity.Ready, nil)
	f.wantState(connectivity.Ready)
	if sc, err := f.pick("a"); sc != f.cc.SubConn("a") || err != nil {
		t.Errorf("%v, %v", sc, err)
	}
	if _, err := f.pick("b"); !errors.Is(err, balancer.ErrNoSubConnAvailable) {
		t.Error(err)
	}
	for _, unknown := range []string{"c", ""} {
		if _, err := f.pick(unknown); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), `"`+unknown+`"`) {
			t.Error(err)
		}
	}
	// When the update returns, what is new can be picked, and what is gone is closed.
	f.update("a", "c")
	if _, err := f.pick("c"); !errors.Is(err, balancer.ErrNoSubConnAvailable) {
		t.Error(err)
	}
	if _, err := f.pick("b"); status.Code(err) != codes.Internal {
		t.Error(err)
	}
	if !f.cc.SubConn("b").IsShutdown() || f.cc.SubConn("a").IsShutdown() {
		t.Error("the wrong cluster is closed")
	}
	// One that failed counts as failed while it tries again.
	f.cc.SubConn("a").Report(connectivity.TransientFailure, errors.New("down"))
	f.wantState(connectivity.Connecting)
	f.cc.SubConn("c").Report(connectivity.TransientFailure, errors.New("down"))
	f.wantState(connectivity.TransientFailure)
	f.cc.SubConn("c").Report(connectivity.Connecting, nil)
	f.wantState(connectivity.TransientFailure)
	f.cc.SubConn("c").Report(connectivity.Idle, nil)
	f.wantState(connectivity.Idle)
	connects := f.cc.SubConn("c").Connects()
	f.lb.ExitIdle()
	if f.cc.SubConn("c").Connects() == connects {
		t.Error("ExitIdle is not passed on")
	}
	f.update()
	f.wantState(connectivity.TransientFailure)
	if err := f.lb.UpdateClientConnState(balancer.ClientConnState{}); err == nil {
		t.Error("no error without a configuration")
	}
}

func TestPickDoesNotAllocate(t *testing.T) {
	f := &fixture{T: t, cc: &lbtest.ClientConn{}}
	f.lb = balancer.Get(Name).Build(f.cc, balancer.BuildOptions{})
	defer f.lb.Close()
	f.update("a", "b")
	f.cc.SubConn("a").Report(connectivity.Ready, nil)
	state, _ := f.cc.State()
	info := balancer.PickInfo{Ctx: call.With(context.Background(), &call.Info{Child: "a"})}
	if n := testing.AllocsPerRun(100, func() { _, _ = state.Picker.Pick(info) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestParseConfig(t *testing.T) {
	for _, js := range []string{`[]`, `{"children":{"a":{}}}`, `{"children":{"a":{"childPolicy":[{"unknown":{}}]}}}`} {
		if c, err := (builder{}).ParseConfig(json.RawMessage(js)); err == nil {
			t.Errorf("%s is accepted: %+v", js, c)
		}
	}
}
