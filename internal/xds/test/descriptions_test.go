// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The tests TestCase... are the cases of gRPC's doc/xds-test-descriptions.md. Where a case has the
// cloud decide something, such as that a zone has too few servers that are well, the test says
// what it decided.

// group makes backends with names that begin alike.
func group(t *testing.T, name string, n int) (list []*backend) {
	t.Helper()
	for i := range n {
		list = append(list, newBackend(t, fmt.Sprint(name, i)))
	}
	return list
}

// count is how many of n RPCs each backend got, by their names, and how many failed: "failed".
func count(t *testing.T, cc *grpc.ClientConn, n int) map[string]int {
	t.Helper()
	got := make(map[string]int)
	for range n {
		name, err := try(t.Context(), t, cc)
		if err != nil {
			name = "failed"
		}
		got[name]++
	}
	return got
}

// all reports whether each backend got some, and nobody else any.
func all(got map[string]int, want ...*backend) bool {
	for _, b := range want {
		if got[b.name] == 0 {
			return false
		}
	}
	return len(got) == len(want)
}

// allGet waits until each of the backends gets RPCs, and nobody else any.
func allGet(t *testing.T, cc *grpc.ClientConn, want ...*backend) {
	t.Helper()
	var got map[string]int
	defer func() {
		if t.Failed() {
			t.Logf("%v", got)
		}
	}()
	until(t, func() bool {
		got = count(t, cc, 20*len(want))
		return all(got, want...)
	})
}

// evenly wants RPCs to be spread evenly.
func evenly(t *testing.T, cc *grpc.ClientConn, want ...*backend) {
	t.Helper()
	got := count(t, cc, 25*len(want))
	for _, b := range want {
		if got[b.name] != 25 {
			t.Errorf("%v, want 25 each", got)
			return
		}
	}
}

// inZones are endpoints of cluster "c": each list in a zone, of the priority of the same index.
func inZones(priorities []uint32, zones ...[]*backend) *endpointv3.ClusterLoadAssignment {
	var list []*endpointv3.LocalityLbEndpoints
	for i, z := range zones {
		list = append(list, local(fmt.Sprint("z", i), priorities[i], 1, z...))
	}
	return assignment("c", list...)
}

// simple has the control plane say that all goes to cluster "c".
func (p *plane) simple(e *endpointv3.ClusterLoadAssignment) {
	p.t.Helper()
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), e)
}

// TestCasePingPong is ping_pong and round_robin.
func TestCasePingPong(t *testing.T) {
	p, g := newPlane(t), group(t, "a", 4)
	p.simple(inZones([]uint32{0}, g))
	cc := channel(t, nil, p)
	call(t, cc)
	allGet(t, cc, g...)
	evenly(t, cc, g...)
}

// TestCaseBackendsRestart is backends_restart.
func TestCaseBackendsRestart(t *testing.T) {
	p, g := newPlane(t), group(t, "a", 4)
	p.simple(inZones([]uint32{0}, g))
	cc := channel(t, nil, p)
	call(t, cc)
	allGet(t, cc, g...)
	evenly(t, cc, g...)
	for _, b := range g {
		b.server.Stop()
	}
	until(t, func() bool { return count(t, cc, 20)["failed"] == 20 })
	for _, b := range g {
		b.start(t, b.address())
	}
	cc.ResetConnectBackoff()
	allGet(t, cc, g...)
	evenly(t, cc, g...)
}

// TestCaseSecondaryLocality is secondary_locality_gets_requests_on_primary_failure.
func TestCaseSecondaryLocality(t *testing.T) {
	p, first, second := newPlane(t), group(t, "a", 2), group(t, "b", 2)
	p.simple(inZones([]uint32{0, 1}, first, second))
	cc := channel(t, nil, p)
	call(t, cc)
	allGet(t, cc, first...)
	for _, b := range first {
		b.server.Stop()
	}
	allGet(t, cc, second...)
	for _, b := range first {
		b.start(t, b.address())
	}
	allGet(t, cc, first...)
}

// TestCasePartialPrimaryFailure is secondary_locality_gets_no_requests_on_partial_primary_failure.
func TestCasePartialPrimaryFailure(t *testing.T) {
	p, first, second := newPlane(t), group(t, "a", 2), group(t, "b", 2)
	p.simple(inZones([]uint32{0, 1}, first, second))
	cc := channel(t, nil, p)
	call(t, cc)
	allGet(t, cc, first...)
	first[0].server.Stop()
	until(t, func() bool {
		got := count(t, cc, 20)
		for _, b := range second {
			if got[b.name] > 0 {
				t.Fatalf("%v, though one of the first is well", got)
			}
		}
		return got[first[1].name] == 20
	})
}

// steady makes RPCs until all of a round go to the backends; none may fail.
func steady(t *testing.T, cc *grpc.ClientConn, want ...*backend) {
	t.Helper()
	until(t, func() bool {
		got := count(t, cc, 20*len(want))
		if got["failed"] > 0 {
			t.Fatalf("RPCs fail: %v", got)
		}
		return all(got, want...)
	})
}

// TestCaseRemoveInstanceGroup is remove_instance_group.
func TestCaseRemoveInstanceGroup(t *testing.T) {
	p, one, two := newPlane(t), group(t, "a", 2), group(t, "b", 2)
	p.simple(inZones([]uint32{0, 0}, one, two))
	cc := channel(t, nil, p)
	call(t, cc)
	steady(t, cc, append(one, two...)...)
	p.simple(inZones([]uint32{0}, one))
	steady(t, cc, one...)
}

// TestCaseChangeBackendService is change_backend_service.
func TestCaseChangeBackendService(t *testing.T) {
	p, before, after := newPlane(t), group(t, "a", 2), group(t, "b", 2)
	old := []types.Resource{cluster("old"), assignment("old", local("z", 0, 1, before...))}
	p.set(append(old, listener("target", "r"), routes(to("old")))...)
	cc := channel(t, nil, p)
	call(t, cc)
	steady(t, cc, before...)
	p.set(append(old, listener("target", "r"), routes(to("new")), cluster("new"), assignment("new", local("z", 0, 1, after...)))...)
	steady(t, cc, after...)
}

// TestCaseTrafficSplitting is traffic_splitting.
func TestCaseTrafficSplitting(t *testing.T) {
	p, a, b := newPlane(t), newBackend(t, "a"), newBackend(t, "b")
	rest := []types.Resource{
		listener("target", "r"), cluster("a"), cluster("b"),
		assignment("a", local("z", 0, 1, a)), assignment("b", local("z", 0, 1, b)),
	}
	p.set(append(rest, routes(to("a")))...)
	cc := channel(t, nil, p)
	call(t, cc)
	if got := count(t, cc, 1000); got["a"] != 1000 {
		t.Errorf("%v, want all for a", got)
	}
	split := to("")
	split.GetRoute().ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: &routev3.WeightedCluster{
		Clusters: []*routev3.WeightedCluster_ClusterWeight{
			{Name: "a", Weight: wrapperspb.UInt32(20)}, {Name: "b", Weight: wrapperspb.UInt32(80)},
		},
	}}
	p.set(append(rest, routes(split))...)
	allGet(t, cc, a, b)
	if got := count(t, cc, 1000); got["b"] < 720 || got["b"] > 880 {
		t.Errorf("%v, want 20 to 80", got)
	}
}

// serverOf makes an RPC, and returns the backend that got it.
func serverOf(t *testing.T, cc *grpc.ClientConn, method string, headers []string, backends ...*backend) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), headers...), patience)
	defer cancel()
	var from peer.Peer
	var err error
	c := testpb.NewTestServiceClient(cc)
	if method == "UnaryCall" {
		_, err = c.UnaryCall(ctx, &testpb.SimpleRequest{}, grpc.Peer(&from), grpc.WaitForReady(true))
	} else {
		_, err = c.EmptyCall(ctx, &testpb.Empty{}, grpc.Peer(&from), grpc.WaitForReady(true))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range backends {
		if from.Addr.String() == b.address() {
			return b.name
		}
	}
	return ""
}

// testMatching wants each list of routes in turn, which comes before a route to "default", to send
// what it is named after to "other", and the other method to "default".
func testMatching(t *testing.T, unary, empty []string, steps []matchingStep) {
	t.Helper()
	p := newPlane(t)
	usual, other := newBackend(t, "default"), newBackend(t, "other")
	rest := []types.Resource{
		listener("target", "r"), cluster("default"), cluster("other"),
		assignment("default", local("z", 0, 1, usual)), assignment("other", local("z", 0, 1, other)),
	}
	p.set(append(rest, routes(to("default")))...)
	cc := channel(t, nil, p)
	where := func() string {
		return serverOf(t, cc, "UnaryCall", unary, usual, other) + " " + serverOf(t, cc, "EmptyCall", empty, usual, other)
	}
	if got := where(); got != "default default" {
		t.Fatal(got)
	}
	for _, s := range steps {
		p.set(append(rest, routes(append(s.routes, to("default"))...))...)
		want := map[string]string{"UnaryCall": "other default", "EmptyCall": "default other"}[s.method]
		until(t, func() bool { return where() == want })
		for range 10 {
			if got := where(); got != want {
				t.Errorf("%s: %s, want %s", s.method, got, want)
			}
		}
	}
}

type matchingStep struct {
	method string
	routes []*routev3.Route
}

// TestCasePathMatching is path_matching.
func TestCasePathMatching(t *testing.T) {
	by := func(cluster string, m *routev3.RouteMatch) *routev3.Route {
		return to(cluster, func(r *routev3.Route) { r.Match = m })
	}
	path := &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: testpb.TestService_EmptyCall_FullMethodName}}
	prefix := &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/grpc.testing.TestService/Unary"}}
	testMatching(t, nil, nil, []matchingStep{
		{"EmptyCall", []*routev3.Route{by("other", path)}},
		{"UnaryCall", []*routev3.Route{by("other", prefix)}},
		{"EmptyCall", []*routev3.Route{by("default", prefix), by("other", path)}},
		{"UnaryCall", []*routev3.Route{by("other", &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: regex(`^\/.*\/UnaryCall$`)}})}},
		{"EmptyCall", []*routev3.Route{by("other", &routev3.RouteMatch{
			PathSpecifier: &routev3.RouteMatch_Path{Path: strings.ToLower(testpb.TestService_EmptyCall_FullMethodName)},
			CaseSensitive: wrapperspb.Bool(false),
		})}},
	})
}

// TestCaseHeaderMatching is header_matching.
func TestCaseHeaderMatching(t *testing.T) {
	by := func(h *routev3.HeaderMatcher) []*routev3.Route {
		return []*routev3.Route{to("other", func(r *routev3.Route) { r.Match.Headers = []*routev3.HeaderMatcher{h} })}
	}
	const name, number = "xds_md", "xds_md_numeric"
	text := func(m *matcherv3.StringMatcher) *routev3.HeaderMatcher {
		return &routev3.HeaderMatcher{Name: name, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: m}}
	}
	inverted := text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "unary_yranu"}})
	inverted.InvertMatch = true
	testMatching(t, []string{name, "unary_yranu", number, "159"}, []string{name, "empty_ytpme"}, []matchingStep{
		{"EmptyCall", by(text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "empty_ytpme"}}))},
		{"UnaryCall", by(text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "un"}}))},
		{"EmptyCall", by(text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: "me"}}))},
		{"UnaryCall", by(&routev3.HeaderMatcher{Name: number, HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}})},
		{"EmptyCall", by(inverted)},
		{"UnaryCall", by(&routev3.HeaderMatcher{Name: number, HeaderMatchSpecifier: &routev3.HeaderMatcher_RangeMatch{RangeMatch: &typev3.Int64Range{Start: 100, End: 200}}})},
		{"EmptyCall", by(text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex("^em.*me$")}}))},
	})
}
