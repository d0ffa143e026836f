// SPDX-License-Identifier: Apache-2.0

package overridehost

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	_ "google.golang.org/grpc/internal/balancer/pickfirst" // the child of a session's endpoints
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// hooked is a ClientConn that calls made after a SubConn for b:1 is made, before NewSubConn returns.
type hooked struct {
	lbtest.ClientConn
	made func()
}

func (h *hooked) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	sc, err := h.ClientConn.NewSubConn(addrs, opts)
	if made := h.made; made != nil && addrs[0].Addr == "b:1" {
		h.made = nil
		made()
	}
	return sc, err
}

// world is a policy with the endpoints a:1 and b:1.
type world struct {
	t      *testing.T
	cc     hooked
	lb     *policy
	config serviceconfig.LoadBalancingConfig
}

func newWorld(t *testing.T, child string) *world {
	config, err := builder{}.ParseConfig(json.RawMessage(`{"childPolicy":[{"` + child + `":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, config: config}
	w.lb = builder{}.Build(&w.cc, balancer.BuildOptions{}).(*policy)
	w.update("a:1", "b:1")
	return w
}

func (w *world) update(addrs ...string) {
	s := balancer.ClientConnState{BalancerConfig: w.config}
	for _, a := range addrs {
		s.ResolverState.Endpoints = append(s.ResolverState.Endpoints, endpoint(a, resource.Healthy))
	}
	if err := w.lb.UpdateClientConnState(s); err != nil {
		w.t.Error(err)
	}
}

// pick picks with the last picker. It returns "" if the RPC has to wait.
func (w *world) pick(hosts ...string) string {
	w.t.Helper()
	state, _ := w.cc.State()
	r, err := state.Picker.Pick(balancer.PickInfo{Ctx: call.With(w.t.Context(), &call.Info{Session: true, Hosts: hosts})})
	synctest.Wait()
	if errors.Is(err, balancer.ErrNoSubConnAvailable) {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return r.SubConn.(*lbtest.SubConn).Addr()
}

// report reports a state of a SubConn, and returns whether the policy then reported a new picker.
func (w *world) report(addr string, s connectivity.State) bool {
	_, before := w.cc.State()
	w.cc.SubConn(addr).Report(s, errors.New("no"))
	_, after := w.cc.State()
	return after > before
}

// TestConnectOvertaken: a connection that a session asked for is given up if, while it is made, its
// address or the policy goes, or the child makes one itself.
func TestConnectOvertaken(t *testing.T) {
	for name, overtake := range map[string]func(*world){
		"no address": func(w *world) { w.update("a:1") },
		"no policy":  func(w *world) { w.lb.Close() },
		"the child's": func(w *world) {
			//lint:ignore SA1019 policies use it
			if _, err := w.lb.NewSubConn([]resolver.Address{{Addr: "b:1"}}, balancer.NewSubConnOptions{}); err != nil {
				w.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "leaf")
				defer w.lb.Close()
				w.report("a:1", connectivity.Ready)
				var own *lbtest.SubConn
				_, before := w.cc.State()
				w.cc.made = func() { own = w.cc.SubConn("b:1"); overtake(w) }
				if got := w.pick("b:1"); got != "" || own == nil {
					t.Fatalf("%q, %v", got, own)
				}
				if !own.IsShutdown() || own.Connects() > 0 {
					t.Errorf("the SubConn stays: shut down %v, connects %v", own.IsShutdown(), own.Connects())
				}
				if name == "no policy" {
					return
				}
				if _, after := w.cc.State(); after == before {
					t.Error("the session's RPC waits without end")
				}
				want := "a:1"
				if name == "the child's" {
					want = ""
				}
				if got := w.pick("b:1"); got != want {
					t.Errorf("%q is picked", got)
				}
				if sc := w.cc.SubConn("b:1"); want == "" && (sc == own || sc.Connects() != 1) {
					t.Error("the child's SubConn is not used")
				}
			})
		})
	}
}

// TestA55AttemptFails: a session's RPC goes to another address as soon as the attempt to connect to
// the session's has failed, although the child, which is idle, reports nothing then.
func TestA55AttemptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "pick_first")
		defer w.lb.Close()
		for _, s := range []connectivity.State{connectivity.Connecting, connectivity.Ready, connectivity.Idle} {
			w.report("a:1", s)
		}
		if got, n := w.pick("a:1"), w.cc.SubConn("a:1").Connects(); got != "" || n != 2 {
			t.Fatalf("%q, %v", got, n)
		}
		w.report("a:1", connectivity.Connecting)
		if got := w.pick("a:1"); got != "" || w.cc.SubConn("b:1") != nil {
			t.Fatalf("%q", got)
		}
		if !w.report("a:1", connectivity.TransientFailure) {
			t.Error("the RPC waits for more than the attempt")
		}
		w.pick("a:1")
		if sc := w.cc.SubConn("b:1"); sc == nil || sc.Connects() != 1 {
			t.Fatal("the other address is not tried")
		}
		w.report("b:1", connectivity.Ready)
		if got := w.pick("a:1"); got != "b:1" {
			t.Errorf("%q", got)
		}
	})
}

// quiet is a child that reports one state, as priority does while a higher priority is in use.
type quiet struct {
	balancer.Balancer
	cc balancer.ClientConn
}

func (quiet) Name() string { return "quiet" }

func (quiet) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	return quiet{cc: cc}
}

func (q quiet) UpdateClientConnState(s balancer.ClientConnState) error {
	for _, e := range s.ResolverState.Endpoints {
		//lint:ignore SA1019 policies use it
		if _, err := q.cc.NewSubConn(e.Addresses, balancer.NewSubConnOptions{StateListener: func(balancer.SubConnState) {}}); err != nil {
			return err
		}
	}
	q.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: quietPicker{}})
	return nil
}

func (quiet) Close() {}

type quietPicker struct{}

func (quietPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

// TestA75QuietChild: RPCs of sessions pick again when their SubConn changes, also if the child keeps
// its picker; changes of SubConns that no session has asked for cost nothing.
func TestA75QuietChild(t *testing.T) {
	balancer.Register(quiet{})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "quiet")
		defer w.lb.Close()
		if w.pick("a:1") != "" || w.cc.SubConn("a:1").Connects() != 1 {
			t.Fatal("no attempt to connect")
		}
		w.report("a:1", connectivity.Connecting)
		if w.pick("a:1") != "" || !w.report("a:1", connectivity.Ready) {
			t.Error("ready: the RPC waits on")
		}
		if got := w.pick("a:1"); got != "a:1" {
			t.Errorf("%q", got)
		}
		if !w.report("a:1", connectivity.Idle) {
			t.Error("the connection is lost: the RPC waits on")
		}
		for _, s := range []connectivity.State{connectivity.Connecting, connectivity.Ready, connectivity.Idle} {
			if w.report("b:1", s) {
				t.Errorf("%v: a new picker for nothing", s)
			}
		}
	})
}

// follower is a child with a SubConn for each endpoint that it is told of, and no longer.
type follower struct {
	balancer.Balancer
	cc   balancer.ClientConn
	subs map[string]balancer.SubConn
}

func (follower) Name() string { return "follower" }

func (follower) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	return follower{cc: cc, subs: make(map[string]balancer.SubConn)}
}

func (f follower) UpdateClientConnState(s balancer.ClientConnState) error {
	now := make(map[string]bool)
	for _, e := range s.ResolverState.Endpoints {
		addr := e.Addresses[0].Addr
		now[addr] = true
		if f.subs[addr] != nil {
			continue
		}
		//lint:ignore SA1019 policies use it
		sc, err := f.cc.NewSubConn(e.Addresses, balancer.NewSubConnOptions{StateListener: func(balancer.SubConnState) {}})
		if err != nil {
			return err
		}
		f.subs[addr] = sc
	}
	for addr, sc := range f.subs {
		if !now[addr] {
			sc.Shutdown()
			delete(f.subs, addr)
		}
	}
	for _, sc := range f.subs {
		f.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: always{sc}})
	}
	return nil
}

func (follower) Close() {}

type always struct{ sc balancer.SubConn }

func (a always) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: a.sc}, nil
}

// TestA75FirstRPCOfSession: the SubConn that the first RPC of a session got is kept for it when the child drops it, as
// where the server drains; that of an RPC without a session is not.
func TestA75FirstRPCOfSession(t *testing.T) {
	balancer.Register(follower{})
	config, err := builder{}.ParseConfig(json.RawMessage(`{"clusterName":"c","childPolicy":[{"follower":{}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	cluster := &dependency.Cluster{Resource: &resource.Cluster{
		OverrideHealth: []resource.Health{resource.Healthy, resource.Draining}, SessionIdleTimeout: time.Hour,
	}}
	attached := &dependency.Attachment{Config: &dependency.Config{Clusters: map[string]*dependency.Cluster{"c": cluster}}}
	for _, session := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, config: config}
			w.lb = builder{}.Build(&w.cc, balancer.BuildOptions{}).(*policy)
			defer w.lb.Close()
			update := func(endpoints ...resolver.Endpoint) {
				s := dependency.Attach(resolver.State{Endpoints: endpoints}, attached)
				if err := w.lb.UpdateClientConnState(balancer.ClientConnState{BalancerConfig: config, ResolverState: s}); err != nil {
					t.Fatal(err)
				}
			}
			update(endpoint("a:1", resource.Healthy))
			state, _ := w.cc.State()
			r, err := state.Picker.Pick(balancer.PickInfo{Ctx: call.With(t.Context(), &call.Info{Session: session})})
			if err != nil {
				t.Fatal(err)
			}
			update(endpoint("a:1", resource.Draining), endpoint("b:1", resource.Healthy))
			if gone := r.SubConn.(*lbtest.SubConn).IsShutdown(); gone == session {
				t.Errorf("session %t: shut down %t", session, gone)
			}
		})
	}
}
