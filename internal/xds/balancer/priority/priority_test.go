// SPDX-License-Identifier: Apache-2.0

package priority

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/hierarchy"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/resolver"
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

// inBubble runs f with a policy, on a clock of its own.
func inBubble(t *testing.T, f func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cc := &lbtest.ClientConn{}
		fx := &fixture{T: t, cc: cc, lb: balancer.Get(Name).Build(cc, balancer.BuildOptions{})}
		f(fx)
		fx.lb.Close()
		synctest.Wait()
	})
}

// update gives the policy children, the best first, each with an endpoint of its name.
func (f *fixture) update(names ...string) {
	f.Helper()
	var endpoints []resolver.Endpoint
	children := map[string]any{}
	for _, name := range names {
		endpoints = append(endpoints, hierarchy.Set(resolver.Endpoint{Addresses: []resolver.Address{{Addr: name}}}, []string{name}))
		children[name] = map[string]any{"config": []any{map[string]any{"leaf": map[string]any{}}}}
	}
	js, err := json.Marshal(map[string]any{"children": children, "priorities": names})
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
	synctest.Wait()
}

func (f *fixture) report(name string, s connectivity.State) {
	f.Helper()
	var err error
	if s == connectivity.TransientFailure {
		err = errors.New(name + " is down")
	}
	sc := f.cc.SubConn(name)
	if sc == nil {
		f.Fatalf("there is no %s", name)
	}
	sc.Report(s, err)
	synctest.Wait()
}

// want checks the state of the channel, and where RPCs go.
func (f *fixture) want(s connectivity.State, to string) {
	f.Helper()
	synctest.Wait()
	state, _ := f.cc.State()
	if state.ConnectivityState != s {
		f.Errorf("state %v, want %v", state.ConnectivityState, s)
	}
	if to == "" {
		return
	}
	if r, err := state.Picker.Pick(balancer.PickInfo{}); err != nil || r.SubConn != f.cc.SubConn(to) {
		f.Errorf("picked %v, %v; want %s", r.SubConn, err, to)
	}
}

func (f *fixture) lives(name string, want bool) {
	f.Helper()
	synctest.Wait()
	sc := f.cc.SubConn(name)
	if got := sc != nil && !sc.IsShutdown(); got != want {
		f.Errorf("%s lives: %t", name, got)
	}
}

func TestA56Failover(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.update("a", "b", "c")
		f.lives("a", true)
		f.lives("b", false) // children are made when they are needed
		f.report("a", connectivity.Connecting)
		time.Sleep(failover - 1)
		f.lives("b", false)
		time.Sleep(time.Nanosecond)
		f.lives("b", true) // a had its time
		f.want(connectivity.Connecting, "")
		f.report("b", connectivity.Connecting)
		f.report("b", connectivity.Ready)
		f.want(connectivity.Ready, "b")
		f.lives("c", false)

		f.report("a", connectivity.Ready) // the better one comes
		f.want(connectivity.Ready, "a")
		time.Sleep(retention - 1)
		f.lives("b", true)
		f.report("a", connectivity.TransientFailure) // and goes in time
		f.want(connectivity.Ready, "b")
		time.Sleep(time.Hour)
		f.lives("b", true)
		f.report("a", connectivity.Ready)
		time.Sleep(retention + 1)
		f.lives("b", false)

		f.report("a", connectivity.TransientFailure)
		f.report("b", connectivity.TransientFailure)
		f.report("c", connectivity.TransientFailure)
		f.want(connectivity.TransientFailure, "")
		state, _ := f.cc.State()
		if _, err := state.Picker.Pick(balancer.PickInfo{}); err == nil || err.Error() != "c is down" {
			t.Errorf("the last one's error is used, got %v", err)
		}
		f.report("b", connectivity.Connecting)
		f.want(connectivity.Connecting, "")
		// One that failed is not given time again.
		f.report("a", connectivity.Connecting)
		f.report("c", connectivity.Ready)
		f.want(connectivity.Ready, "c")
	})
}

func TestA56TimeAfterReady(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.update("a", "b")
		f.report("a", connectivity.Ready)
		f.report("a", connectivity.Idle)
		f.want(connectivity.Idle, "")
		f.report("a", connectivity.Connecting) // it worked: it has its time
		f.lives("b", false)
		time.Sleep(failover)
		f.lives("b", true)
	})
}

func TestA56Updates(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.update()
		f.want(connectivity.TransientFailure, "")
		f.update("a", "b")
		f.report("a", connectivity.TransientFailure)
		f.report("b", connectivity.Ready)
		f.want(connectivity.Ready, "b")
		f.update("b", "c") // a moves up, without a new connection
		f.want(connectivity.Ready, "b")
		f.lives("a", false) // A115: not kept
		if n := len(f.cc.SubConns()); n != 2 {
			t.Errorf("%d SubConns were made", n)
		}
		f.lb.ExitIdle()
		if err := f.lb.UpdateClientConnState(balancer.ClientConnState{}); err == nil {
			t.Error("no error without a configuration")
		}
	})
}

func TestParseConfig(t *testing.T) {
	const leaf = `"config":[{"leaf":{}}]`
	for js, ok := range map[string]bool{
		`{}`: true,
		`{"children":{"a":{` + leaf + `,"ignoreReresolutionRequests":true}},"priorities":["a"]}`: true,
		`[]`: false,
		`{"children":{"a":{}},"priorities":["a"]}`:                                false,
		`{"children":{"a":{"config":[{"unknown":{}}]}},"priorities":["a"]}`:       false,
		`{"children":{"a":{` + leaf + `}},"priorities":["a","b"]}`:                false,
		`{"children":{"a":{` + leaf + `}},"priorities":["a","a"]}`:                false,
		`{"children":{"a":{` + leaf + `},"b":{` + leaf + `}},"priorities":["a"]}`: false,
	} {
		if c, err := (builder{}).ParseConfig(json.RawMessage(js)); (err == nil) != ok {
			t.Errorf("%s: %+v, %v", js, c, err)
		}
	}
}
