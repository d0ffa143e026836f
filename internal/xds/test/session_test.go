// SPDX-License-Identifier: Apache-2.0

package test

import (
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	statefulv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/type/http/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/xds/filters"
	"google.golang.org/grpc/internal/xds/httpfilter"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// cookieOf makes an RPC without a cookie, and returns the one it gets.
func cookieOf(t *testing.T, cc *grpc.ClientConn) string {
	t.Helper()
	var header metadata.MD
	call(t, cc, grpc.Header(&header))
	cookie, _, _ := strings.Cut(strings.Join(header["set-cookie"], ""), ";")
	if cookie == "" {
		t.Fatalf("no cookie in %v", header)
	}
	stream, err := testpb.NewTestServiceClient(cc).FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.CloseSend()
	if err := stream.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
		t.Fatal(err)
	}
	if header, err := stream.Header(); err != nil || len(header["set-cookie"]) != 1 {
		t.Errorf("a stream's headers are %v, %v", header, err)
	}
	return cookie
}

// sticky is a Listener with the filter for sessions.
func sticky() *listenerv3.Listener {
	l := listener("target", "r")
	changeHCM(l, func(m *hcmv3.HttpConnectionManager) {
		session := &statefulv3.StatefulSession{SessionState: &corev3.TypedExtensionConfig{
			Name:        "cookie",
			TypedConfig: mustAny(&cookiev3.CookieBasedSessionState{Cookie: &httpv3.Cookie{Name: "session"}}),
		}}
		m.HttpFilters = []*hcmv3.HttpFilter{filter("session", session), filter("router", &routerv3.Router{})}
	})
	return l
}

// sessions switches them on.
func sessions(o *xdsclient.Options) {
	o.Features.StatefulSession = true
	o.Filters = httpfilter.NewRegistry(httpfilter.Router{}, filters.Session{})
}

// TestA60WeightedClusters has a session stay with its cluster, too.
func TestA60WeightedClusters(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	split := to("", func(r *routev3.Route) {
		r.GetRoute().ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: &routev3.WeightedCluster{
			Clusters: []*routev3.WeightedCluster_ClusterWeight{
				{Name: "a", Weight: wrapperspb.UInt32(1)}, {Name: "b", Weight: wrapperspb.UInt32(1)},
			},
		}}
	})
	one, two := cluster("a"), cluster("b")
	for _, c := range []*clusterv3.Cluster{one, two} {
		c.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{OverrideHostStatus: &corev3.HealthStatusSet{
			Statuses: []corev3.HealthStatus{corev3.HealthStatus_HEALTHY, corev3.HealthStatus_UNKNOWN},
		}}
	}
	p.set(sticky(), routes(split), one, two, assignment("a", local("z", 0, 1, a)), assignment("b", local("z", 0, 1, b)))
	cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: poolWith(t, bootstrapText(p), sessions)})
	if got := shares(t, cc, 40); len(got) != 2 {
		t.Errorf("without a session: %v", got)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "cookie", cookieOf(t, cc))
	first, err := try(ctx, t, cc)
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if got, err := try(ctx, t, cc); got != first || err != nil {
			t.Fatalf("%q, %v; want %q", got, err, first)
		}
	}
}

// TestA55A75Session has a session stay with its server: among others, while that drains, and in
// another priority.
func TestA55A75Session(t *testing.T) {
	p := newPlane(t)
	a, b, c := newBackend(t, "a"), newBackend(t, "b"), newBackend(t, "c")
	l := sticky()
	cl := cluster("c")
	cl.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{OverrideHostStatus: &corev3.HealthStatusSet{
		Statuses: []corev3.HealthStatus{corev3.HealthStatus_HEALTHY, corev3.HealthStatus_UNKNOWN, corev3.HealthStatus_DRAINING},
	}}
	p.set(l, routes(to("c")), cl, assignment("c", local("z", 0, 1, a, b, c)))
	cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: poolWith(t, bootstrapText(p), sessions)})
	cookie := cookieOf(t, cc)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "cookie", cookie)
	first, err := try(ctx, t, cc, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	stays := func(when string) {
		t.Helper()
		for range 20 {
			if got, err := try(ctx, t, cc, grpc.WaitForReady(true)); got != first || err != nil {
				t.Fatalf("%s: %q, %v; want %q", when, got, err, first)
			}
		}
	}
	stays("among others")
	until(t, func() bool { return len(shares(t, cc, 9)) == 3 }) // others are not held to it

	all := map[string]*backend{"a": a, "b": b, "c": c}
	mine := all[first]
	delete(all, first)
	var others []*backend
	for _, o := range all {
		others = append(others, o)
	}
	draining := local("z", 0, 1, append(others, mine)...)
	draining.LbEndpoints[2].HealthStatus = corev3.HealthStatus_DRAINING
	p.set(l, routes(to("c")), cl, assignment("c", draining))
	until(t, func() bool { return len(shares(t, cc, 9)) == 2 })
	stays("while it drains")

	p.set(l, routes(to("c")), cl, assignment("c", local("z", 0, 1, others...), local("y", 1, 1, mine)))
	stays("in another priority")

	p.set(l, routes(to("c")), cl, assignment("c", local("z", 0, 1, others...)))
	until(t, func() bool {
		got, err := try(ctx, t, cc, grpc.WaitForReady(true))
		return err == nil && got != first
	})
}
