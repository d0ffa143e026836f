// SPDX-License-Identifier: Apache-2.0

package overridehost

import (
	"encoding/json"
	"runtime"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/balancer/locality"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) {
	balancer.Register(lbtest.Leaf{LeafName: "leaf"})
	leakcheck.Main(m)
}

func endpoint(addr string, h resource.Health) resolver.Endpoint {
	return locality.SetHealth(resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}}, h)
}

func TestA55Picks(t *testing.T) {
	cc := &lbtest.ClientConn{}
	lb := builder{}.Build(cc, balancer.BuildOptions{}).(*policy)
	defer lb.Close()
	config, err := builder{}.ParseConfig(json.RawMessage(`{"childPolicy":[{"leaf":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := resolver.State{Endpoints: []resolver.Endpoint{endpoint("a:1", resource.Healthy), endpoint("b:1", resource.Unknown), endpoint("d:1", resource.Draining)}}
	if err := lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: config}); err != nil {
		t.Fatal(err)
	}
	cc.SubConn("a:1").Report(connectivity.Ready, nil)
	pick := func(hosts ...string) (string, error) {
		info := &call.Info{Session: len(hosts) > 0, Hosts: hosts}
		state, _ := cc.State()
		r, err := state.Picker.Pick(balancer.PickInfo{Ctx: call.With(t.Context(), info)})
		if err != nil {
			return "", err
		}
		addr := r.SubConn.(*lbtest.SubConn).Addr()
		if p := info.Picked(); len(p) != 1 || p[0] != addr {
			t.Errorf("picked %v, stored %v", addr, p)
		}
		return addr, nil
	}
	for _, hosts := range [][]string{nil, {"a:1"}, {"gone:1"}, {"d:1"}} { // one that drains is not to be used
		if got, err := pick(hosts...); got != "a:1" || err != nil {
			t.Errorf("%v: %q, %v", hosts, got, err)
		}
	}
	// The session's server has no connection: the RPC waits for one.
	if _, err := pick("b:1"); err != balancer.ErrNoSubConnAvailable {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); cc.SubConn("b:1") == nil || cc.SubConn("b:1").Connects() == 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("no connection is made")
		}
	}
	cc.SubConn("b:1").Report(connectivity.Ready, nil)
	if got, err := pick("b:1"); got != "b:1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	// It goes when it would be made in another way now, and the session's next RPC makes another.
	gone := cc.SubConn("b:1")
	s.Endpoints = slices.Clone(s.Endpoints)
	s.Endpoints[1] = locality.SetHealth(resolver.Endpoint{Addresses: []resolver.Address{{Addr: "b:1", Attributes: attributes.New("proxy", "p:1")}}}, resource.Unknown)
	if err := lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: config}); err != nil {
		t.Fatal(err)
	}
	if !gone.IsShutdown() {
		t.Error("a session's connection keeps a proxy that its address no longer has")
	}
	if _, err := pick("b:1"); err != balancer.ErrNoSubConnAvailable {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); cc.SubConn("b:1") == gone || cc.SubConn("b:1").Connects() == 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("no connection is made")
		}
	}
	// It goes with its endpoint.
	s.Endpoints = s.Endpoints[:1]
	if err := lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: config}); err != nil {
		t.Fatal(err)
	}
	if !cc.SubConn("b:1").IsShutdown() {
		t.Error("a connection stays without an endpoint")
	}
	if err := lb.UpdateClientConnState(balancer.ClientConnState{}); err == nil {
		t.Error("no error without a configuration")
	}
}

// TestA61UsedAddressIsFirst: a session's cookie begins with the address of an endpoint that is used.
func TestA61UsedAddressIsFirst(t *testing.T) {
	p := &policy{}
	e := resolver.Endpoint{Addresses: []resolver.Address{{Addr: "a"}, {Addr: "b"}, {Addr: "c"}}}
	p.adopt([]resolver.Endpoint{e}, nil, 0)
	for name, want := range map[string][]string{"a": {"a", "b", "c"}, "b": {"b", "a", "c"}, "c": {"c", "a", "b"}} {
		if got := *p.entries[name].addresses; !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
