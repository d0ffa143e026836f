// SPDX-License-Identifier: Apache-2.0

package wrrlocality

import (
	"encoding/json"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/balancer/locality"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) {
	balancer.Register(lbtest.Leaf{LeafName: "leaf"})
	leakcheck.Main(m)
}

func endpoint(addr, zone string, weight uint32) resolver.Endpoint {
	e := resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}}
	return locality.Set(e, locality.Info{ID: resource.LocalityID{Zone: zone}, Weight: weight})
}

func TestA52Localities(t *testing.T) {
	cc := &lbtest.ClientConn{}
	lb := balancer.Get(Name).Build(cc, balancer.BuildOptions{})
	defer lb.Close()
	config, err := builder{}.ParseConfig(json.RawMessage(`{"childPolicy":[{"leaf":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	update := func(endpoints ...resolver.Endpoint) {
		t.Helper()
		if err := lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: resolver.State{Endpoints: endpoints}, BalancerConfig: config}); err != nil {
			t.Fatal(err)
		}
	}
	update(endpoint("a", "x", 1), endpoint("b", "y", 3), endpoint("c", "x", 1))
	if n := len(cc.SubConns()); n != 2 { // a leaf takes the first endpoint
		t.Fatalf("%d localities", n)
	}
	for _, addr := range []string{"a", "b"} {
		cc.SubConn(addr).Report(connectivity.Ready, nil)
	}
	count := map[balancer.SubConn]int{}
	state, _ := cc.State()
	for range 4000 {
		r, err := state.Picker.Pick(balancer.PickInfo{})
		if err != nil {
			t.Fatal(err)
		}
		count[r.SubConn]++
	}
	if n := count[cc.SubConn("b")]; n < 2700 || n > 3300 {
		t.Errorf("%d of 4000 go to a locality with 3/4 of the weight", n)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = state.Picker.Pick(balancer.PickInfo{}) }); n != 0 {
		t.Errorf("%v allocations a pick", n)
	}
	// Of two weights the first counts, and a locality that is gone is left.
	update(endpoint("a", "x", 1), endpoint("d", "x", 5))
	if !cc.SubConn("b").IsShutdown() {
		t.Error("a locality stays that is gone")
	}
	if err := lb.UpdateClientConnState(balancer.ClientConnState{}); err == nil {
		t.Error("no error without a configuration")
	}
}

func TestParseConfig(t *testing.T) {
	for _, js := range []string{`{}`, `[]`, `{"childPolicy":[]}`, `{"childPolicy":[{"unknown":{}}]}`, `{"childPolicy":5}`} {
		if c, err := (builder{}).ParseConfig(json.RawMessage(js)); err == nil {
			t.Errorf("%s is accepted: %+v", js, c)
		}
	}
}
