// SPDX-License-Identifier: Apache-2.0

package cds

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/lbtest"
	_ "google.golang.org/grpc/internal/balancer/pickfirst"
	"google.golang.org/grpc/internal/connectproxy"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/xds/balancer/clustermanager"
	_ "google.golang.org/grpc/internal/xds/balancer/wrrlocality"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// fixture is the cluster manager with one cluster, "c".
type fixture struct {
	testing.TB
	cc     *lbtest.ClientConn
	lb     balancer.Balancer
	client *xdsclient.Client
	subs   map[string]int
}

func newFixture(t testing.TB) *fixture {
	b, err := bootstrap.Parse([]byte(`{"xds_servers":[{"server_uri":"passthrough:///127.0.0.1:1","channel_creds":[{"type":"insecure"}]}]}`), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, release, err := xdsclient.NewPoolOf(b).Client("xds:///t", nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{TB: t, cc: &lbtest.ClientConn{}, client: c, subs: map[string]int{}}
	f.lb = balancer.Get(clustermanager.Name).Build(f.cc, balancer.BuildOptions{})
	t.Cleanup(func() {
		f.lb.Close()
		release()
	})
	return f
}

// Subscribe implements dependency.Subscriber.
func (f *fixture) Subscribe(cluster string) func() {
	f.subs[cluster]++
	return func() { f.subs[cluster]-- }
}

// update tells of clusters; the policy of "c" gets the configuration.
func (f *fixture) update(config string, clusters map[string]*dependency.Cluster) {
	f.Helper()
	js := fmt.Sprintf(`{"children":{"c":{"childPolicy":[{"cds_experimental":%s}]}}}`, config)
	parsed, err := balancer.Get(clustermanager.Name).(balancer.ConfigParser).ParseConfig(json.RawMessage(js))
	if err != nil {
		f.Fatal(err)
	}
	s := dependency.Attach(resolver.State{}, &dependency.Attachment{
		Config: &dependency.Config{Clusters: clusters}, Client: f.client, Subscriber: f,
	})
	_ = f.lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: parsed})
}

func (f *fixture) pick() (balancer.PickResult, error) {
	state, _ := f.cc.State()
	return state.Picker.Pick(balancer.PickInfo{Ctx: call.With(f.Context(), &call.Info{Child: "c"})})
}

func leaf(localities ...resource.Locality) *dependency.Cluster {
	return &dependency.Cluster{
		Resource: &resource.Cluster{
			Name: "c", MaxRequests: 1024,
			LBPolicy: json.RawMessage(`[{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}]`),
		},
		Endpoints: &resource.Endpoints{Localities: localities},
	}
}

func zone(name string, priority uint32, addrs ...string) resource.Locality {
	l := resource.Locality{ID: resource.LocalityID{Zone: name}, Priority: priority, Weight: 1}
	for _, a := range addrs {
		l.Endpoints = append(l.Endpoints, resource.Endpoint{Address: a, Weight: 1})
	}
	return l
}

// ready reports all SubConns ready that there are.
func (f *fixture) ready() {
	for _, sc := range f.cc.SubConns() {
		if !sc.IsShutdown() && sc.Connects() > 0 {
			sc.Report(connectivity.Connecting, nil)
			sc.Report(connectivity.Ready, nil)
			sc.ReportHealth(connectivity.Ready, nil)
		}
	}
}

// becomesReady waits until the priority policy, which reports later, has done so.
func (f *fixture) becomesReady() {
	f.Helper()
	f.ready()
	for {
		if s, _ := f.cc.State(); s.ConnectivityState == connectivity.Ready {
			return
		}
		if f.Context().Err() != nil {
			f.Fatal("not ready")
		}
	}
}

func TestPickAllocates(t *testing.T) {
	f := newFixture(t)
	f.update(`{"cluster":"c"}`, map[string]*dependency.Cluster{"c": leaf(zone("x", 0, "a:1", "b:1"), zone("y", 0, "c:1"))})
	f.becomesReady()
	state, _ := f.cc.State()
	info := balancer.PickInfo{Ctx: call.With(t.Context(), &call.Info{Child: "c"})}
	if n := testing.AllocsPerRun(1000, func() {
		r, err := state.Picker.Pick(info)
		if err != nil {
			t.Fatal(err)
		}
		r.Done(balancer.DoneInfo{BytesSent: true})
	}); n != 0 {
		t.Errorf("%v allocations a pick", n)
	}
}

// BenchmarkPick picks through all policies of a cluster.
func BenchmarkPick(b *testing.B) {
	f := newFixture(b)
	f.update(`{"cluster":"c"}`, map[string]*dependency.Cluster{"c": leaf(zone("x", 0, "a:1", "b:1"), zone("y", 0, "c:1"))})
	f.becomesReady()
	state, _ := f.cc.State()
	info := balancer.PickInfo{Ctx: call.With(b.Context(), &call.Info{Child: "c"})}
	b.ReportAllocs()
	for b.Loop() {
		r, err := state.Picker.Pick(info)
		if err != nil {
			b.Fatal(err)
		}
		r.Done(balancer.DoneInfo{BytesSent: true})
	}
}

func TestA74Errors(t *testing.T) {
	f := newFixture(t)
	wants := func(text string) {
		t.Helper()
		s, _ := f.cc.State()
		if _, err := f.pick(); s.ConnectivityState != connectivity.TransientFailure || err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, %v; want %q", s.ConnectivityState, err, text)
		}
	}
	f.update(`{"cluster":"c"}`, nil)
	wants(`cluster "c" is not there`)
	f.update(`{"cluster":"c"}`, map[string]*dependency.Cluster{"c": {Err: fmt.Errorf("it is gone")}})
	wants("it is gone")
}

func TestA74Dynamic(t *testing.T) {
	f := newFixture(t)
	f.update(`{"cluster":"c","isDynamic":true}`, nil)
	f.update(`{"cluster":"c","isDynamic":true}`, nil)
	if f.subs["c"] != 1 {
		t.Errorf("%d subscriptions", f.subs["c"])
	}
	if s, _ := f.cc.State(); s.ConnectivityState != connectivity.Connecting {
		t.Errorf("%v before anything is known", s.ConnectivityState)
	}
	f.lb.Close()
	if f.subs["c"] != 0 {
		t.Errorf("%d subscriptions stay", f.subs["c"])
	}
}

// TestOnlyNews: what is the same is not looked at again.
func TestOnlyNews(t *testing.T) {
	f := newFixture(t)
	c := leaf(zone("x", 0, "a:1", "b:1"))
	for range 3 {
		f.update(`{"cluster":"c"}`, map[string]*dependency.Cluster{"c": c})
	}
	if n := len(f.cc.SubConns()); n != 2 {
		t.Errorf("%d SubConns", n)
	}
	// An endpoint more leaves the others alone.
	f.update(`{"cluster":"c"}`, map[string]*dependency.Cluster{"c": leaf(zone("x", 0, "a:1", "b:1", "c:1"))})
	if n := len(f.cc.SubConns()); n != 3 {
		t.Errorf("%d SubConns", n)
	}
}

// TestA86ProxyIsSwitched: endpoints get other connections if the cluster's resource begins or ceases to say that their proxies
// are used, and also if the proxies change then, but not otherwise.
func TestA86ProxyIsSwitched(t *testing.T) {
	f := newFixture(t)
	made := 0
	update := func(what string, connect bool, proxy string, want int) {
		t.Helper()
		l := zone("x", 0, "a:1")
		l.Endpoints[0].Proxy = proxy
		c := leaf(l)
		c.Resource.HTTPConnect = connect
		f.update(`{"cluster":"c"}`, map[string]*dependency.Cluster{"c": c})
		all := f.cc.SubConns()
		if n := len(all) - made; n != want {
			t.Errorf("%s: %d new SubConns, want %d", what, n, want)
		}
		made = len(all)
		last := all[made-1]
		if got, want := connectproxy.Of(last.Address()), proxy; connect && got != want || !connect && got != "" {
			t.Errorf("%s: by way of %q", what, got)
		}
		f.becomesReady()
	}
	update("off", false, "p:1", 1)
	update("another proxy that is not used", false, "p:2", 0)
	update("on", true, "p:2", 1)
	update("another proxy", true, "p:1", 1)
	update("off again", false, "p:1", 1)
}

func TestA56Names(t *testing.T) {
	in := func(zones ...string) (out [][]resource.Locality) {
		for _, list := range zones {
			var p []resource.Locality
			for _, z := range strings.Split(list, " ") {
				p = append(p, resource.Locality{ID: resource.LocalityID{Zone: z}})
			}
			out = append(out, p)
		}
		return out
	}
	var n names
	for _, tt := range []struct{ priorities, want []string }{
		{[]string{"a b", "c"}, []string{"priority-0", "priority-1"}},
		{[]string{"a b", "c"}, []string{"priority-0", "priority-1"}},
		{[]string{"c", "a b"}, []string{"priority-1", "priority-0"}}, // they change places
		{[]string{"c a", "b"}, []string{"priority-1", "priority-0"}}, // one moves
		{[]string{"d", "c", "b"}, []string{"priority-2", "priority-1", "priority-0"}},
		{[]string{"d c b"}, []string{"priority-2"}},
		{[]string{"d", "c"}, []string{"priority-2", "priority-3"}}, // a name is taken once
		{nil, []string{}},
	} {
		if n.assign(in(tt.priorities...)); !slices.Equal(n.list, tt.want) {
			t.Errorf("%v: %v, want %v", tt.priorities, n.list, tt.want)
		}
	}
}

func TestEndpoints(t *testing.T) {
	l := zone("x", 0, "a:1", "b:1")
	l.Endpoints[0].MoreAddresses = []string{"a:2"}
	l.Endpoints = append(l.Endpoints, resource.Endpoint{Address: "d:1", Weight: 1, Health: resource.Draining})
	got := endpoints([][]resource.Locality{{l}}, []string{"p"}, wants{}).all
	if len(got) != 2 || len(got[0].Addresses) != 2 || got[0].Addresses[1].Addr != "a:2" || got[1].Addresses[0].Addr != "b:1" {
		t.Fatalf("%+v", got)
	}
	again := endpoints([][]resource.Locality{{l}}, []string{"p"}, wants{}).all
	for i := range got {
		if !got[i].Attributes.Equal(again[i].Attributes) || !got[i].Addresses[0].Equal(again[i].Addresses[0]) {
			t.Errorf("the same endpoint is another: %v, %v", got[i], again[i])
		}
	}
}

func TestParseConfig(t *testing.T) {
	for js, ok := range map[string]bool{
		`{"cluster":"c"}`: true, `{"cluster":"c","isDynamic":true}`: true, `{}`: false, `[]`: false,
	} {
		if c, err := (builder{}).ParseConfig(json.RawMessage(js)); (err == nil) != ok {
			t.Errorf("%s: %+v, %v", js, c, err)
		}
	}
}

// TestSharedConfigs: channels share what they make of the same cluster; what one has of its own, or
// an older version, is not mixed up with it.
func TestSharedConfigs(t *testing.T) {
	c := leaf(zone("x", 0, "a:1"))
	build := func(c *dependency.Cluster, policy string) any {
		t.Helper()
		config, _, err := new(tree).leaf(leafOf{name: "c", policy: policy}, c, resolver.State{})
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	first := build(c, "")
	if build(c, "") != first {
		t.Error("each channel has one of its own")
	}
	other := *c
	other.Resource = leaf().Resource
	for name, got := range map[string]any{
		"resource":  build(&other, ""),
		"policy":    build(c, `[{"round_robin":{}}]`),
		"endpoints": build(leaf(zone("x", 0, "a:1")), ""),
	} {
		if got == first {
			t.Errorf("with another %s it is the same", name)
		}
	}
	if _, _, err := new(tree).leaf(leafOf{name: "c", policy: `[]`}, c, resolver.State{}); err == nil {
		t.Error("no error without a policy")
	}
}
