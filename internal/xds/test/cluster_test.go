// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/http_11_proxy/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental/stats/telemetry"
	"google.golang.org/grpc/internal/xds/bootstrap"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func ringCluster(name string) *clusterv3.Cluster {
	c := cluster(name)
	c.LbPolicy = clusterv3.Cluster_RING_HASH
	return c
}

func TestA27Drops(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	e := assignment("c", local("z", 0, 1, a))
	e.Policy = &endpointv3.ClusterLoadAssignment_Policy{DropOverloads: []*endpointv3.ClusterLoadAssignment_Policy_DropOverload{{
		Category: "too-much", DropPercentage: &typev3.FractionalPercent{Numerator: 30},
	}}}
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), e)
	cc := channel(t, nil, p)
	dropped := 0
	for range 1000 {
		_, err := try(t.Context(), t, cc, grpc.WaitForReady(true))
		if err != nil {
			dropped++
			if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "too-much") {
				t.Fatal(err)
			}
		}
	}
	if dropped < 220 || dropped > 380 {
		t.Errorf("%d of 1000 are dropped, of which 30 %% shall be", dropped)
	}
}

func TestA32CircuitBreaking(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	c := cluster("c")
	c.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(2)}}}
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a)))
	// It counts for all channels of the process.
	one, two := channel(t, nil, p), channel(t, nil, p)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, cc := range []*grpc.ClientConn{one, two} {
		talking(ctx, t, cc, grpc.WaitForReady(true))
	}
	if _, err := try(t.Context(), t, one); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "max requests") {
		t.Error(err)
	}
	cancel()
	becomes(t, two, "a")
}

// TestA105Scaling: the RPCs that a connection has no place for get others, as many as the
// cluster says, also if it says so while they wait.
func TestA105Scaling(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a", grpc.MaxConcurrentStreams(1))
	say := func(connections uint32) {
		c := cluster("c")
		c.CircuitBreakers = &clusterv3.CircuitBreakers{PerHostThresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections: wrapperspb.UInt32(connections),
		}}}
		p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a)))
	}
	say(2)
	b := xdsresolver.Builder{Pool: poolWith(t, bootstrapText(p), func(o *xdsclient.Options) { o.Features.Scaling = true })}
	cc := channelTo(t, "xds:///target", b)
	call(t, cc)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	arrived := make(chan string)
	begin := func() {
		s, err := testpb.NewTestServiceClient(cc).FullDuplexCall(ctx)
		if err == nil {
			err = s.Send(&testpb.StreamingOutputCallRequest{})
		}
		if err == nil {
			_, err = s.Recv()
		}
		if err != nil {
			arrived <- err.Error()
			return
		}
		from, _ := peer.FromContext(s.Context())
		arrived <- from.LocalAddr.String()
	}
	for range 3 {
		go begin()
	}
	got := map[string]int{<-arrived: 1}
	got[<-arrived]++
	say(3)
	got[<-arrived]++
	if len(got) != 3 {
		t.Errorf("three RPCs on connections that take one each: %v", got)
	}
}

// reported returns the first report about a cluster that is ok.
func reported(t *testing.T, p *plane, ok func(*endpointv3.ClusterStats) bool) {
	t.Helper()
	for {
		select {
		case r := <-p.loads.reports:
			for _, s := range r.GetClusterStats() {
				if ok(s) {
					return
				}
			}
		case <-time.After(patience):
			t.Fatal("no such load report comes")
		}
	}
}

func TestA27A64A85LoadReports(t *testing.T) {
	p := newPlane(t)
	p.loads.reports = make(chan *lrsv3.LoadStatsRequest, 100)
	a := newBackend(t, "a", orca.CallMetricsServerOption(nil))
	a.handle = func(ctx context.Context) error {
		m := orca.CallMetricsRecorderFromContext(ctx)
		m.SetCPUUtilization(0.5)
		m.SetNamedMetric("queue", 7)
		m.SetNamedMetric("other", 8)
		return nil
	}
	c := cluster("c")
	c.LrsServer = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}}
	c.LrsReportEndpointMetrics = []string{"cpu_utilization", "named_metrics.queue"}
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	call(t, cc)
	var issued, succeeded uint64
	var cpu, queue float64
	reported(t, p, func(s *endpointv3.ClusterStats) bool { // there may be a report while the RPC is under way
		if s.GetClusterName() != "c" || len(s.GetUpstreamLocalityStats()) != 1 {
			return false
		}
		l := s.GetUpstreamLocalityStats()[0]
		if l.GetLocality().GetZone() != "z" {
			t.Errorf("%v", l)
		}
		issued, succeeded = issued+l.GetTotalIssuedRequests(), succeeded+l.GetTotalSuccessfulRequests()
		cpu += l.GetCpuUtilization().GetTotalMetricValue()
		for _, m := range l.GetLoadMetricStats() {
			if m.GetMetricName() != "named_metrics.queue" {
				t.Errorf("%v", m)
			}
			queue += m.GetTotalMetricValue()
		}
		return issued > 0 && succeeded > 0
	})
	if issued != 1 || succeeded != 1 || cpu != 0.5 || queue != 7 {
		t.Errorf("%d issued, %d succeeded, cpu %v, queue %v", issued, succeeded, cpu, queue)
	}
}

func TestA50OutlierDetection(t *testing.T) {
	p := newPlane(t)
	bad, b, c := newBackend(t, "bad"), newBackend(t, "b"), newBackend(t, "c")
	var heals atomic.Bool
	bad.handle = func(context.Context) error {
		if heals.Load() {
			return nil
		}
		return status.Error(codes.Internal, "bad")
	}
	cl := cluster("c")
	cl.OutlierDetection = &clusterv3.OutlierDetection{
		Interval: durationpb.New(50 * time.Millisecond), BaseEjectionTime: durationpb.New(100 * time.Millisecond),
		MaxEjectionPercent:             wrapperspb.UInt32(50),
		EnforcingSuccessRate:           wrapperspb.UInt32(0),
		FailurePercentageThreshold:     wrapperspb.UInt32(50),
		EnforcingFailurePercentage:     wrapperspb.UInt32(100),
		FailurePercentageMinimumHosts:  wrapperspb.UInt32(1),
		FailurePercentageRequestVolume: wrapperspb.UInt32(1),
	}
	p.set(listener("target", "r"), routes(to("c")), cl, assignment("c", local("z", 0, 1, bad, b, c)))
	cc := channel(t, nil, p)
	call10 := func() (failed int) {
		for range 10 {
			if _, err := try(t.Context(), t, cc, grpc.WaitForReady(true)); err != nil {
				failed++
			}
		}
		return failed
	}
	until(t, func() bool { return call10() > 0 })
	until(t, func() bool { return call10() == 0 }) // it is left out
	heals.Store(true)
	becomes(t, cc, "bad") // and comes back
}

func TestA52A76RingWithEndpointKeys(t *testing.T) {
	// Endpoints keep their places when their addresses change, as they have keys.
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	r := to("c", func(r *routev3.Route) {
		r.GetRoute().HashPolicy = []*routev3.RouteAction_HashPolicy{{
			PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: "user"}},
		}}
	})
	keyed := func(first, second *backend) *endpointv3.ClusterLoadAssignment {
		l := local("z", 0, 1, first, second)
		for i, key := range []string{"one", "two"} {
			l.LbEndpoints[i].Metadata = &corev3.Metadata{FilterMetadata: mustStruct("envoy.lb", "hash_key", key)}
		}
		return assignment("c", l)
	}
	users := []string{"u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8"}
	where := func(cc *grpc.ClientConn) string {
		all := ""
		for _, u := range users {
			got, err := try(metadata.AppendToOutgoingContext(t.Context(), "user", u), t, cc, grpc.WaitForReady(true))
			if err != nil {
				t.Fatal(err)
			}
			all += got
		}
		return all
	}
	p.set(listener("target", "r"), routes(r), ringCluster("c"), keyed(a, b))
	before := where(channel(t, nil, p))
	p.set(listener("target", "r"), routes(r), ringCluster("c"), keyed(b, a)) // they have changed places
	want := strings.NewReplacer("a", "b", "b", "a").Replace(before)
	if got := where(channel(t, nil, p)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestA81AuthorityRewriting(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	var authority atomic.Value
	a.handle = func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		authority.Store(strings.Join(md[":authority"], ","))
		return nil
	}
	l := local("z", 0, 1, a)
	l.LbEndpoints[0].GetEndpoint().Hostname = "endpoint.example.com"
	r := to("c", func(r *routev3.Route) {
		r.GetRoute().HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
	})
	p.set(listener("target", "r"), routes(r), cluster("c"), assignment("c", l))
	for feature, want := range map[string]string{`["trusted_xds_server"]`: "endpoint.example.com", `[]`: "target"} {
		text := strings.Replace(bootstrapText(p), `"channel_creds"`, `"server_features":`+feature+`,"channel_creds"`, 1)
		cc := channelTo(t, "xds:///target", xdsresolver.Builder{Pool: poolWith(t, text, func(o *xdsclient.Options) { o.Features.AuthorityRewrite = true })})
		call(t, cc)
		if got := authority.Load(); got != want {
			t.Errorf("%s: %q, want %q", feature, got, want)
		}
	}
}

// TestA81AuthorityIsChecked: a control plane that rewrites the authority of RPCs does not decide
// under which name a server may answer.
func TestA81AuthorityIsChecked(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secure, err := credentials.NewClientTLSFromFile(files.CA, testcerts.ServerName)
	if err != nil {
		t.Fatal(err)
	}
	for hostname, want := range map[string]codes.Code{testcerts.ServerName: codes.OK, "": codes.OK, "endpoint.example.com": codes.Unavailable} {
		p := newPlane(t)
		a, _ := tlsBackend(t, loadPair(t, files))
		l := local("z", 0, 1, a)
		l.LbEndpoints[0].GetEndpoint().Hostname = hostname
		r := to("c", func(r *routev3.Route) {
			r.GetRoute().HostRewriteSpecifier = &routev3.RouteAction_AutoHostRewrite{AutoHostRewrite: wrapperspb.Bool(true)}
		})
		p.set(listener("target", "r"), routes(r), cluster("c"), assignment("c", l))
		text := strings.Replace(bootstrapText(p), `"channel_creds"`, `"server_features":["trusted_xds_server"],"channel_creds"`, 1)
		b := xdsresolver.Builder{Pool: poolWith(t, text, func(o *xdsclient.Options) { o.Features.AuthorityRewrite = true })}
		cc := channelTo(t, "xds:///target", b, grpc.WithTransportCredentials(secure))
		if _, err := try(t.Context(), t, cc); status.Code(err) != want {
			t.Errorf("%q: %v, want %v", hostname, err, want)
		}
	}
}

// poolWith returns a Pool with other options than usual.
func poolWith(t *testing.T, text string, change func(*xdsclient.Options)) *xdsclient.Pool {
	t.Helper()
	b, err := bootstrap.Parse([]byte(text), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := xdsclient.Options{Bootstrap: b, Features: xdsclient.Features(), Filters: xdsclient.Filters()}
	o.Client.ResourceTimeout = patience
	change(&o)
	return xdsclient.NewPool(o)
}

func TestA86HTTPConnect(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	var asked atomic.Value
	proxy := newProxy(t, &asked)
	c := cluster("c")
	c.TransportSocket = &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.http_11_proxy",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: mustAny(&proxyv3.Http11ProxyUpstreamTransport{})},
	}
	l := local("z", 0, 1, a)
	l.LbEndpoints[0].Metadata = &corev3.Metadata{TypedFilterMetadata: map[string]*anypb.Any{
		"envoy.http11_proxy_transport_socket.proxy_address": mustAny(address(proxy)),
	}}
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", l))
	pool := poolWith(t, bootstrapText(p), func(o *xdsclient.Options) { o.Features.HTTPConnect = true })
	if got := call(t, channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool})); got != "a" || asked.Load() != a.address() {
		t.Errorf("%q, by way of %v", got, asked.Load())
	}
}

// newProxy starts an HTTP proxy, which notes what it is asked for, and returns its port.
func newProxy(t *testing.T, asked *atomic.Value) uint32 {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Host)
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer to.Close()
		w.WriteHeader(http.StatusOK)
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		go func() {
			_, _ = io.Copy(to, from)
			to.Close()
		}()
		_, _ = io.Copy(from, to)
	})}
	go server.Serve(lis) // it ends with Close
	t.Cleanup(func() { server.Close() })
	return uint32(lis.Addr().(*net.TCPAddr).Port)
}

func TestA78A89Labels(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	c := cluster("c")
	c.Metadata = &corev3.Metadata{FilterMetadata: mustStruct("com.google.csm.telemetry_labels", "service_name", "shop")}
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a)))
	got := make(map[string]string)
	ctx := telemetry.NewContextWithLabelCallback(t.Context(), func(labels map[string]string) { got = labels })
	if _, err := try(ctx, t, channel(t, nil, p), grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{
		"grpc.lb.backend_service": "c", "grpc.lb.locality": `{region="", zone="z", sub_zone=""}`, "csm.service_name": "shop",
		"csm.service_namespace_name": "unknown",
	} {
		if got[label] != want {
			t.Errorf("%s: %q, want %q", label, got[label], want)
		}
	}
}

func TestA61Dualstack(t *testing.T) {
	p := newPlane(t)
	a, gone := newBackend(t, "a"), newBackend(t, "gone")
	gone.server.Stop()
	l := local("z", 0, 1, gone)
	l.LbEndpoints[0].GetEndpoint().AdditionalAddresses = []*endpointv3.Endpoint_AdditionalAddress{{Address: address(a.port)}}
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", l))
	if got := call(t, channel(t, nil, p)); got != "a" {
		t.Errorf("%q, want the second address", got)
	}
}
