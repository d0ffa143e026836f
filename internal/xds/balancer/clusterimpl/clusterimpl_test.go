// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"weak"

	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/roundrobin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/credsmode"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestParseConfig(t *testing.T) {
	for js, ok := range map[string]bool{
		`{"cluster":"c","childPolicy":[{"round_robin":{}}]}`: true,
		`{"childPolicy":[{"round_robin":{}}]}`:               false,
		`{"cluster":"c"}`:                                    false,
		`{"cluster":"c","childPolicy":[{"nobody":{}}]}`:      false,
		`[]`: false,
	} {
		if c, err := (builder{}).ParseConfig(json.RawMessage(js)); (err == nil) != ok {
			t.Errorf("%s: %+v, %v", js, c, err)
		}
	}
}

// TestA32Counters: all channels count with one counter for a cluster and its EDS service.
func TestA32Counters(t *testing.T) {
	a, b := requestsOf(requestKey{"c", "s"}), requestsOf(requestKey{"c", "s"})
	other := requestsOf(requestKey{"c", "other"})
	if a != b || a == other {
		t.Error("the counters of a cluster are not one")
	}
	a.release()
	if requestsOf(requestKey{"c", "s"}) != b {
		t.Error("a counter goes that is in use")
	}
	b.release()
	b.release()
	other.release()
	(*requests)(nil).release()
	counters.Lock()
	defer counters.Unlock()
	if n := len(counters.byKey); n != 0 {
		t.Errorf("%d counters stay", n)
	}
}

func TestSettings(t *testing.T) {
	n := requestsOf(requestKey{"c", ""})
	defer n.release()
	cluster := &dependency.Cluster{Resource: &resource.Cluster{Name: "c", MaxRequests: 5}}
	first := newSettings(cluster, n, nil, nil)
	if newSettings(cluster, n, nil, nil) != first {
		t.Error("two channels have two of them")
	}
	drops := &resource.Endpoints{Drops: []resource.Drop{{Category: "x", Share: match.All}}}
	all := newSettings(&dependency.Cluster{Resource: cluster.Resource, Endpoints: drops}, n, nil, first)
	if all == first || !all.all || first.all {
		t.Errorf("drops all: %t, %t", first.all, all.all)
	}
	if newSettings(&dependency.Cluster{Resource: cluster.Resource, Endpoints: &resource.Endpoints{Drops: drops.Drops}}, n, nil, all) != all {
		t.Error("the same drops make other settings")
	}
	if all.labels["grpc.lb.backend_service"] != "c" {
		t.Errorf("%v", all.labels)
	}
	id := resource.LocalityID{Zone: "z"}
	at := first.place(id)
	if first.place(id) != at || at.labels["grpc.lb.locality"] != id.String() {
		t.Errorf("%v", at.labels)
	}
	n.Add(1)
	at.finished(balancer.DoneInfo{BytesSent: true})
	if n.Load() != 0 {
		t.Errorf("%d RPCs are under way", n.Load())
	}
}

// TestCredentialsKnowTheCluster: those of package google speak ALTS with the servers of most clusters.
func TestCredentialsKnowTheCluster(t *testing.T) {
	n := requestsOf(requestKey{"c", ""})
	defer n.release()
	p := &policy{settings: newSettings(&dependency.Cluster{Resource: &resource.Cluster{Name: "c"}}, n, nil, nil)}
	prepared := p.prepare([]resolver.Address{{Addr: "a"}})
	if got := credsmode.Cluster(prepared[0].Attributes); got != "c" {
		t.Errorf("cluster %q", got)
	}
}

// TestA89FailedPicksHaveLabels: RPCs that are dropped, or for which there is no room, have the label of their cluster.
func TestA89FailedPicksHaveLabels(t *testing.T) {
	n := requestsOf(requestKey{"c", ""})
	defer n.release()
	r := &resource.Cluster{Name: "c"} // with room for no request
	drops := &resource.Endpoints{Drops: []resource.Drop{{Category: "x", Share: match.All}}}
	for name, p := range map[string]*picker{
		"dropped": {settings: newSettings(&dependency.Cluster{Resource: r, Endpoints: drops}, n, nil, nil), drop: true},
		"broken":  {settings: newSettings(&dependency.Cluster{Resource: r}, n, nil, nil)},
	} {
		var service string
		ctx := stats.WithLabelCallback(context.Background(), func(labels map[string]string) { service = labels["grpc.lb.backend_service"] })
		if _, err := p.Pick(balancer.PickInfo{Ctx: ctx}); status.Code(err) != codes.Unavailable || service != "c" {
			t.Errorf("%s: %v, of service %q", name, err, service)
		}
	}
}

// TestLabelCallbackPanics: an RPC that the program's callback leaves by a panic, after its pick, has no place any more.
func TestLabelCallbackPanics(t *testing.T) {
	n := requestsOf(requestKey{"c", ""})
	defer n.release()
	s := newSettings(&dependency.Cluster{Resource: &resource.Cluster{Name: "c", MaxRequests: 5}}, n, nil, nil)
	child := pickFunc(func(balancer.PickInfo) (balancer.PickResult, error) {
		return balancer.PickResult{SubConn: &subConn{}}, nil
	})
	ctx := stats.WithLabelCallback(context.Background(), func(map[string]string) { panic("the program's") })
	func() {
		defer func() { _ = recover() }()
		_, _ = (&picker{child: child, settings: s}).Pick(balancer.PickInfo{Ctx: ctx})
		t.Error("the panic is lost")
	}()
	if n.Load() != 0 {
		t.Errorf("%d RPCs are under way", n.Load())
	}
}

type pickFunc func(balancer.PickInfo) (balancer.PickResult, error)

func (f pickFunc) Pick(info balancer.PickInfo) (balancer.PickResult, error) { return f(info) }

// TestPlacesOfLocalitiesThatAreGone: a control plane that renames localities again and again leaves nothing behind.
func TestPlacesOfLocalitiesThatAreGone(t *testing.T) {
	n := requestsOf(requestKey{"c", ""})
	defer n.release()
	r := &resource.Cluster{Name: "c"}
	kept := resource.LocalityID{Zone: "kept"}
	var s *settings
	var first *place
	for i := range 100 {
		other := resource.LocalityID{Zone: fmt.Sprint(i)}
		e := &resource.Endpoints{Localities: []resource.Locality{{ID: kept}, {ID: other}}}
		s = newSettings(&dependency.Cluster{Resource: r, Endpoints: e}, n, nil, s)
		s.place(other)
		if p := s.place(kept); first == nil {
			first = p
		} else if p != first {
			t.Fatal("a locality that stays gets another place")
		}
	}
	places := 0
	s.places.Range(func(any, any) bool { places++; return true })
	if places != 2 {
		t.Errorf("%d places of 2 localities", places)
	}
}

// TestSettingsOfEarlierCounters: a cluster that is used again and again, as a priority that others fall back to is,
// gets other counters each time. Its resource stays, and does not collect settings.
func TestSettingsOfEarlierCounters(t *testing.T) {
	c := &dependency.Cluster{Resource: &resource.Cluster{Name: "c"}}
	var gone weak.Pointer[requests]
	for range 2 {
		n := requestsOf(requestKey{"c", ""})
		newSettings(c, n, nil, nil)
		n.release()
		if gone == (weak.Pointer[requests]{}) {
			gone = weak.Make(n)
		}
	}
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the resource keeps the settings of counters that are gone")
	}
	runtime.KeepAlive(c)
}

// TestA32CounterWithoutPolicy: RPCs that go on without a policy, as where the routes leave a cluster, are counted when
// the cluster is used again.
func TestA32CounterWithoutPolicy(t *testing.T) {
	key := requestKey{"c", "s"}
	there := func() bool {
		counters.Lock()
		defer counters.Unlock()
		return counters.byKey[key] != nil
	}
	a := requestsOf(key)
	a.Add(2)
	a.release()
	b := requestsOf(key)
	if b.Load() != 2 {
		t.Errorf("%d RPCs are counted, want 2", b.Load())
	}
	a.ended()
	b.release()
	if !there() {
		t.Error("a counter goes that counts an RPC")
	}
	a.ended()
	if there() {
		t.Error("a counter stays without an RPC")
	}
}
