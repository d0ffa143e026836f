// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// withHeader matches a header exactly.
func withHeader(name, value string) func(*routev3.Route) {
	return func(r *routev3.Route) {
		r.Match.Headers = append(r.Match.Headers, &routev3.HeaderMatcher{
			Name: name, HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
				StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: value}},
			},
		})
	}
}

func TestA28Matching(t *testing.T) {
	p := newPlane(t)
	a, b, c := newBackend(t, "a"), newBackend(t, "b"), newBackend(t, "c")
	p.set(listener("target", "r"),
		routes(
			to("a", withHeader("who", "a")),
			to("b", withHeader("who", "b")),
			to("c", func(r *routev3.Route) {
				r.Match.PathSpecifier = &routev3.RouteMatch_Path{Path: testpb.TestService_UnaryCall_FullMethodName}
			}),
		),
		cluster("a"), cluster("b"), cluster("c"),
		assignment("a", local("z", 0, 1, a)), assignment("b", local("z", 0, 1, b)), assignment("c", local("z", 0, 1, c)))
	cc := channel(t, nil, p)
	for _, want := range []string{"a", "b", "c"} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "who", want)
		if got, err := try(ctx, t, cc, grpc.WaitForReady(true)); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

func TestA31Timeout(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	var left atomic.Int64
	a.handle = func(ctx context.Context) error {
		deadline, ok := ctx.Deadline()
		left.Store(-1)
		if ok {
			left.Store(int64(time.Until(deadline)))
		}
		return nil
	}
	bound := func(d *durationpb.Duration) func(*routev3.Route) {
		return func(r *routev3.Route) {
			r.GetRoute().MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: d}
		}
	}
	for _, tt := range []struct {
		route *durationpb.Duration
		whole *durationpb.Duration
		own   time.Duration
		want  time.Duration // 0: none
	}{
		{nil, nil, 0, 0},
		{durationpb.New(100 * time.Second), nil, 0, 100 * time.Second},
		{durationpb.New(100 * time.Second), nil, 50 * time.Second, 50 * time.Second},
		{durationpb.New(100 * time.Second), nil, 200 * time.Second, 100 * time.Second},
		{nil, durationpb.New(100 * time.Second), 0, 100 * time.Second},
		{durationpb.New(0), durationpb.New(100 * time.Second), 0, 0},
	} {
		l := listener("target", "r")
		if tt.whole != nil {
			changeHCM(l, func(m *hcmv3.HttpConnectionManager) {
				m.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{MaxStreamDuration: tt.whole}
			})
		}
		r := to("c")
		if tt.route != nil {
			r = to("c", bound(tt.route))
		}
		p.set(l, routes(r), cluster("c"), assignment("c", local("z", 0, 1, a)))
		cc := channel(t, nil, p)
		ctx, cancel := t.Context(), func() {}
		if tt.own > 0 {
			ctx, cancel = context.WithTimeout(ctx, tt.own)
		}
		if _, err := testpb.NewTestServiceClient(cc).UnaryCall(ctx, &testpb.SimpleRequest{}); err != nil {
			t.Error(err)
		}
		cancel()
		got := time.Duration(left.Load())
		if tt.want == 0 && got != -1 || tt.want > 0 && (got > tt.want || got < tt.want-25*time.Second) {
			t.Errorf("%+v: %v", tt, got)
		}
		cc.Close()
	}
}

// changeHCM changes the HttpConnectionManager of a listener.
func changeHCM(l *listenerv3.Listener, change func(*hcmv3.HttpConnectionManager)) {
	var m hcmv3.HttpConnectionManager
	if err := l.ApiListener.ApiListener.UnmarshalTo(&m); err != nil {
		panic(err)
	}
	change(&m)
	l.ApiListener.ApiListener = mustAny(&m)
}

func TestA44Retry(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	var tries atomic.Int64
	a.handle = func(context.Context) error {
		if tries.Add(1) < 3 {
			return status.Error(codes.Unavailable, "not now")
		}
		return nil
	}
	retry := &routev3.RetryPolicy{
		RetryOn: "unavailable", NumRetries: wrapperspb.UInt32(2),
		RetryBackOff: &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(time.Millisecond)},
	}
	p.set(listener("target", "r"), routes(to("c", func(r *routev3.Route) { r.GetRoute().RetryPolicy = retry })),
		cluster("c"), assignment("c", local("z", 0, 1, a)))
	if got := call(t, channel(t, nil, p)); got != "a" || tries.Load() != 3 {
		t.Errorf("%q after %d tries", got, tries.Load())
	}
}

func TestA33Fault(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	fault := &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{
		ErrorType:  &faultv3.FaultAbort_GrpcStatus{GrpcStatus: uint32(codes.DataLoss)},
		Percentage: &typev3.FractionalPercent{Numerator: 100},
	}}
	l := listener("target", "r")
	changeHCM(l, func(m *hcmv3.HttpConnectionManager) {
		m.HttpFilters = []*hcmv3.HttpFilter{
			{Name: "fault", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(fault)}},
			{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(&routerv3.Router{})}},
		}
	})
	spared := to("c", withHeader("spare", "me"), func(r *routev3.Route) {
		r.TypedPerFilterConfig = map[string]*anypb.Any{"fault": mustAny(&faultv3.HTTPFault{})}
	})
	p.set(l, routes(spared, to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	if _, err := try(t.Context(), t, cc); status.Code(err) != codes.DataLoss {
		t.Error(err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "spare", "me")
	if _, err := try(ctx, t, cc); err != nil {
		t.Error(err)
	}
}

func TestA42HashPolicy(t *testing.T) {
	p := newPlane(t)
	backends := []*backend{newBackend(t, "a"), newBackend(t, "b"), newBackend(t, "c"), newBackend(t, "d")}
	r := to("c", func(r *routev3.Route) {
		r.GetRoute().HashPolicy = []*routev3.RouteAction_HashPolicy{{
			PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: "user"}},
		}}
	})
	p.set(listener("target", "r"), routes(r), ringCluster("c"), assignment("c", local("y", 0, 1, backends[:2]...), local("z", 0, 3, backends[2:]...)))
	cc := channel(t, nil, p)
	where := make(map[string]string)
	used := make(map[string]bool)
	for i := range 200 {
		user := "user " + strconv.Itoa(i%50)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "user", user)
		got, err := try(ctx, t, cc, grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := where[user]; ok && before != got {
			t.Errorf("%s goes to %s after %s", user, got, before)
		}
		where[user], used[got] = got, true
	}
	if len(used) < 3 {
		t.Errorf("only %v are used", used)
	}
}

// TestA42NoHashPolicy: without a policy that gives a hash, each RPC has one of its own.
func TestA42NoHashPolicy(t *testing.T) {
	p := newPlane(t)
	backends := []*backend{newBackend(t, "a"), newBackend(t, "b")}
	p.set(listener("target", "r"), routes(to("c")), ringCluster("c"), assignment("c", local("z", 0, 1, backends...)))
	cc := channel(t, nil, p)
	used := make(map[string]bool)
	for range 100 {
		got, err := try(t.Context(), t, cc, grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		used[got] = true
	}
	if len(used) < 2 {
		t.Errorf("only %v are used", used)
	}
}

// TestA63StringMatch: headers are matched by all kinds of string matchers, of whatever case.
func TestA63StringMatch(t *testing.T) {
	p := newPlane(t)
	matches := func(cluster string, m *matcherv3.StringMatcher) *routev3.Route {
		return to(cluster, func(r *routev3.Route) {
			r.Match.Headers = []*routev3.HeaderMatcher{{Name: "who", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: m}}}
		})
	}
	names := []string{"exact", "prefix", "suffix", "contains", "regex"}
	all := []types.Resource{listener("target", "r"), routes(
		matches("exact", &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "ABC"}, IgnoreCase: true}),
		matches("prefix", &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "ab"}, IgnoreCase: true}),
		matches("suffix", &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: "bc"}}),
		matches("contains", &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Contains{Contains: "BC"}, IgnoreCase: true}),
		matches("regex", &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: "[0-9]+"}}}),
	)}
	for _, name := range names {
		all = append(all, cluster(name), assignment(name, local("z", 0, 1, newBackend(t, name))))
	}
	p.set(all...)
	cc := channel(t, nil, p)
	for who, want := range map[string]string{"abc": "exact", "ABx": "prefix", "xbc": "suffix", "xBCx": "contains", "42": "regex"} {
		got, err := try(metadata.AppendToOutgoingContext(t.Context(), "who", who), t, cc, grpc.WaitForReady(true))
		if got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", who, got, err, want)
		}
	}
}

// TestErrorsNameTheNode: an RPC that fails for what the control plane has, or has not, says which node
// that is.
func TestErrorsNameTheNode(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	full := []types.Resource{listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a))}
	empty := to("")
	for name, now := range map[string][]types.Resource{
		"a deleted cluster": {full[0], full[1], cluster("other")},
		"no locality":       {full[0], full[1], full[2], assignment("c")},
		"no route":          {full[0], routes(to("c", func(r *routev3.Route) { r.Match.PathSpecifier = &routev3.RouteMatch_Path{Path: "/no"} })), full[2], full[3]},
		"no cluster":        {full[0], routes(empty), full[2], full[3]},
	} {
		p.set(full...)
		cc := channel(t, nil, p)
		call(t, cc)
		p.set(now...)
		var err error
		until(t, func() bool {
			_, err = try(t.Context(), t, cc)
			return err != nil
		})
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "[xDS node id: "+nodeID+"]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
