// SPDX-License-Identifier: Apache-2.0

package ringhash

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/balancer/weight"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/ringhash"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type fixture struct {
	*testing.T
	cc *lbtest.ClientConn
	lb balancer.Balancer
}

func newFixture(t *testing.T, addrs ...string) *fixture {
	lbtest.UseLeaf(t, pickfirst.Name)
	cc := &lbtest.ClientConn{}
	f := &fixture{T: t, cc: cc, lb: builder{}.Build(cc, balancer.BuildOptions{})}
	var endpoints []resolver.Endpoint
	for _, a := range addrs {
		endpoints = append(endpoints, endpoint(a))
	}
	if err := f.resolve(endpoints...); err != nil {
		t.Fatal(err)
	}
	return f
}

func endpoint(addr string) resolver.Endpoint {
	return resolver.Endpoint{Addresses: []resolver.Address{{Addr: addr}}}
}

func (f *fixture) resolve(endpoints ...resolver.Endpoint) error {
	c, err := builder{}.ParseConfig([]byte(`{"requestHashHeader": "user"}`))
	if err != nil {
		f.Fatal(err)
	}
	return f.lb.UpdateClientConnState(balancer.ClientConnState{
		ResolverState: resolver.State{Endpoints: endpoints}, BalancerConfig: c,
	})
}

func (f *fixture) want(s connectivity.State) {
	f.Helper()
	synctest.Wait()
	if last, _ := f.cc.State(); last.ConnectivityState != s {
		f.Errorf("state %v, want %v", last.ConnectivityState, s)
	}
}

// pick returns the address for the user's RPCs, or the error.
func (f *fixture) pick(user string) (string, error) {
	last, _ := f.cc.State()
	r, err := last.Picker.Pick(balancer.PickInfo{Ctx: metadata.AppendToOutgoingContext(context.Background(), "user", user)})
	synctest.Wait()
	if err != nil {
		return "", err
	}
	return r.SubConn.(*lbtest.SubConn).Addr(), nil
}

// ring returns the ring of the last picker.
func (f *fixture) ring() ring {
	last, _ := f.cc.State()
	return last.Picker.(*picker).ring
}

func TestRPCsConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", "b", "c")
		f.want(idle)
		if n := len(f.cc.SubConns()); n != 0 {
			t.Fatalf("%d SubConns without RPCs", n)
		}
		if _, err := f.pick("me"); err != balancer.ErrNoSubConnAvailable {
			t.Fatal(err)
		}
		if n := len(f.cc.SubConns()); n != 1 {
			t.Fatalf("%d SubConns after one RPC", n)
		}
		mine := f.cc.SubConns()[0]
		mine.Report(connecting, nil)
		f.want(connecting)
		mine.Report(ready, nil)
		f.want(ready)
		for range 10 {
			if got, err := f.pick("me"); err != nil || got != mine.Addr() {
				t.Fatalf("%q, %v", got, err)
			}
		}
		// The connection is lost, and made again by the next RPC only.
		before := mine.Connects()
		mine.Report(idle, nil)
		f.want(idle)
		if n := mine.Connects(); n != before {
			t.Errorf("%d connects without an RPC", n-before)
		}
		_, _ = f.pick("me")
		if n := mine.Connects(); n != before+1 {
			t.Errorf("%d connects", n-before)
		}
		f.lb.Close()
	})
}

func TestFailuresGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", "b", "c")
		_, _ = f.pick("me")
		for i, want := range []connectivity.State{connecting, failure, failure} {
			all := f.cc.SubConns()
			if len(all) != i+1 {
				t.Fatalf("%d SubConns after %d failures", len(all), i)
			}
			all[i].Report(connecting, nil)
			all[i].Report(failure, errors.New("refused"))
			f.want(want)
		}
		if _, err := f.pick("me"); err == nil || err.Error() != "refused" {
			t.Errorf("all have failed: %v", err)
		}
		f.cc.SubConns()[2].Report(ready, nil)
		f.want(ready)
		if got, err := f.pick("me"); err != nil || got != f.cc.SubConns()[2].Addr() {
			t.Errorf("%q, %v", got, err)
		}
		f.lb.Close()
	})
}

func TestExitIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", "b", "c")
		f.lb.ExitIdle()
		synctest.Wait()
		if n := len(f.cc.SubConns()); n != 1 {
			t.Fatalf("%d SubConns", n)
		}
		f.cc.SubConns()[0].Report(connecting, nil)
		f.want(connecting)
		f.lb.ExitIdle()
		f.cc.SubConns()[0].Report(ready, nil)
		f.lb.ExitIdle()
		synctest.Wait()
		if n := len(f.cc.SubConns()); n != 1 {
			t.Errorf("%d SubConns", n)
		}
		f.lb.Close()
	})
}

func TestRingFollowsEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", "b")
		plain := f.ring()
		heavy := weight.Set(endpoint("b"), weight.EndpointInfo{Weight: 3})
		if err := f.resolve(endpoint("a"), heavy, resolver.Endpoint{}); err != nil {
			t.Fatal(err)
		}
		count := make([]int, 2)
		for _, i := range f.ring().owners {
			count[i]++
		}
		if count[1] != 3*count[0] {
			t.Errorf("places %v of weights 1 and 3", count)
		}
		// Twice the same endpoint has the weight of both.
		if err := f.resolve(endpoint("a"), endpoint("b"), endpoint("a")); err != nil {
			t.Fatal(err)
		}
		count = make([]int, 2)
		for _, i := range f.ring().owners {
			count[i]++
		}
		if count[0] != 2*count[1] {
			t.Errorf("places %v of one endpoint twice, and one once", count)
		}
		// With a key the address doesn't matter.
		if err := f.resolve(ringhash.SetHashKey(endpoint("x"), "a"), ringhash.SetHashKey(endpoint("y"), "b")); err != nil {
			t.Fatal(err)
		}
		if keyed := f.ring(); !reflect.DeepEqual(keyed, plain) {
			t.Errorf("places %v, want %v", keyed, plain)
		}
		f.lb.Close()
	})
}

func TestBadStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a")
		if err := f.resolve(); !errors.Is(err, balancer.ErrBadResolverState) {
			t.Errorf("no endpoints: %v", err)
		}
		f.want(failure)
		f.lb.ResolverError(errors.New("lost"))
		if _, err := f.pick("me"); err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("no endpoints, and an error: %v", err)
		}
		f.lb.ExitIdle()
		if err := f.lb.UpdateClientConnState(balancer.ClientConnState{}); !errors.Is(err, balancer.ErrBadResolverState) {
			t.Errorf("no configuration: %v", err)
		}
		f.lb.Close()
	})
}

// Between a new ring and the report of its endpoints the states are those of others.
func TestMembersOfARing(t *testing.T) {
	addr := func(addrs ...string) (e resolver.Endpoint) {
		for _, a := range addrs {
			e.Addresses = append(e.Addresses, resolver.Address{Addr: a})
		}
		return e
	}
	list := func(endpoints ...resolver.Endpoint) (list []endpointsharding.ChildState) {
		for _, e := range endpoints {
			list = append(list, endpointsharding.ChildState{Endpoint: e, State: balancer.State{ConnectivityState: ready}})
		}
		return list
	}
	owners, _ := membersOf([]resolver.Endpoint{addr("a", "b"), {}, addr("c"), addr("b", "a")})
	for _, tt := range []struct {
		reported []endpointsharding.ChildState
		want     []connectivity.State
		same     bool
	}{
		{list(addr("a", "b"), addr("c")), []connectivity.State{ready, ready}, true},
		{list(owners...), []connectivity.State{ready, ready}, true},
		{list(addr("b", "a"), addr("c")), []connectivity.State{ready, ready}, false},
		{list(addr("c"), addr("a", "b")), []connectivity.State{ready, ready}, false},
		{list(addr("c"), addr("x")), []connectivity.State{connecting, ready}, false},
		{list(addr("a", "b"), addr("c"), addr("x")), []connectivity.State{ready, ready}, false},
		{list(addr("a")), []connectivity.State{connecting, connecting}, false},
		{nil, []connectivity.State{connecting, connecting}, false},
	} {
		b := &ringHash{owners: owners}
		got := b.members(tt.reported)
		var states []connectivity.State
		for _, m := range got {
			states = append(states, m.State.ConnectivityState)
		}
		if !slices.Equal(states, tt.want) || len(tt.reported) > 0 && (&got[0] == &tt.reported[0]) != tt.same {
			t.Errorf("%v: %v, want %v; the list itself: %t", tt.reported, states, tt.want, tt.same)
		}
	}
	all := []resolver.Endpoint{addr("a"), addr("b")}
	if owners, _ := membersOf(all); &owners[0] != &all[0] {
		t.Error("the endpoints were copied")
	}
}
