// SPDX-License-Identifier: Apache-2.0

package csm

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestNewWorkload(t *testing.T) {
	env := envconfig.CSM{WorkloadName: "w", CanonicalService: "s", MeshID: "m"}
	cloud := func(platform string) *attribute.Set {
		set := attribute.NewSet(attribute.String("cloud.platform", platform), attribute.String("cloud.region", "r"),
			attribute.String("cloud.account.id", "p"), attribute.String("k8s.namespace.name", "n"), attribute.Int("k8s.cluster.name", 1))
		return &set
	}
	for _, tt := range []struct {
		what  string
		attrs *attribute.Set
		env   envconfig.CSM
		want  map[string]string
	}{
		{"nothing is known", nil, envconfig.CSM{}, map[string]string{"type": unknown, "canonical_service": unknown}},
		{"another platform", cloud("other"), env, map[string]string{"type": "other", "canonical_service": "s"}},
		{"a virtual machine", cloud(compute), env, map[string]string{
			"type": compute, "canonical_service": "s", "workload_name": "w", "location": "r", "project_id": "p",
		}},
		{"Kubernetes, with a name that is none", cloud(kubernetes), env, map[string]string{
			"type": kubernetes, "canonical_service": "s", "workload_name": "w", "location": "r", "project_id": "p",
			"namespace_name": "n", "cluster_name": unknown,
		}},
	} {
		if got := newWorkload(tt.attrs, tt.env); !maps.Equal(got.values, tt.want) || got.mesh != orUnknown(tt.env.MeshID) {
			t.Errorf("%s: %v", tt.what, got)
		}
	}
}

func TestLabels(t *testing.T) {
	x := newExchange(workload{mesh: "m", values: map[string]string{"canonical_service": "own"}})
	labels := func(key string) string {
		var all []string
		for _, l := range x.Labels(key) {
			all = append(all, strings.TrimPrefix(l.Name, "csm.")+"="+l.Value)
		}
		return strings.Join(all, " ")
	}
	key := func(platform string) string {
		return newExchange(workload{values: map[string]string{
			"type": platform, "canonical_service": "s", "workload_name": "w", "location": "l", "project_id": "p", "cluster_name": "c", "more": "x",
		}}).metadata[1]
	}
	const own = "workload_canonical_service=own mesh_id=m "
	const none = own + "remote_workload_type=unknown remote_workload_canonical_service=unknown"
	for _, tt := range []struct{ what, key, want string }{
		{"nothing", "", none},
		{"not base64", "!", none},
		{"not a message", "AAAA", none},
		{"somewhere", key("somewhere"), own + "remote_workload_type=somewhere remote_workload_canonical_service=s"},
		{"a virtual machine", key(compute), own + "remote_workload_type=" + compute + " remote_workload_canonical_service=s " +
			"remote_workload_name=w remote_workload_project_id=p remote_workload_location=l"},
		{"Kubernetes", key(kubernetes), own + "remote_workload_type=" + kubernetes + " remote_workload_canonical_service=s " +
			"remote_workload_name=w remote_workload_project_id=p remote_workload_location=l remote_workload_cluster_name=c " +
			"remote_workload_namespace_name=unknown"},
	} {
		if got := labels(tt.key); got != tt.want {
			t.Errorf("%s: %s", tt.what, got)
		}
	}
}

// TestEnableObservability has a server and channels made with no option for it. Who this
// end is the metadata server does not know.
func TestEnableObservability(t *testing.T) {
	t.Setenv("CSM_CANONICAL_SERVICE_NAME", "svc")
	cloud := httptest.NewServer(http.NotFoundHandler())
	defer cloud.Close()
	t.Setenv("GCE_METADATA_HOST", cloud.Listener.Addr().String())
	r := sdkmetric.NewManualReader()
	disable := EnableObservability(t.Context(), opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(r)),
		Metrics:       estats.NewMetrics("grpc.client.attempt.duration", "grpc.client.call.duration", "grpc.server.call.duration"),
	}})
	defer disable()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, target := range []string{"xds:///x", "xds://" + trafficDirector + "/x", "xds://else/x"} {
		b := manual.NewBuilderWithScheme("xds")
		b.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: lis.Addr().String()}}})
		cc, err := grpc.NewClient(target, grpc.WithResolvers(b), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		var header, trailer metadata.MD
		if _, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header)); err != nil {
			t.Error(err)
		}
		_, err = healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{Service: "none"}, grpc.Trailer(&trailer))
		if status.Code(err) != codes.NotFound {
			t.Error(err)
		}
		if len(header[metadataKey]) != 1 || len(trailer[metadataKey]) != 1 {
			t.Errorf("the server told of itself in %v and %v", header, trailer)
		}
		_ = cc.Close()
	}
	s.GracefulStop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	var all metricdata.ResourceMetrics
	if err := r.Collect(ctx, &all); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all.ScopeMetrics[0].Metrics {
		for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
			line := m.Name
			for _, key := range []attribute.Key{"grpc.target", "grpc.status", "csm.workload_canonical_service", "csm.remote_workload_canonical_service"} {
				if v, ok := p.Attributes.Value(key); ok {
					line += " " + v.AsString()
				}
			}
			got = append(got, line)
		}
	}
	slices.Sort(got)
	want := []string{
		"grpc.client.attempt.duration xds:///x NOT_FOUND svc svc",
		"grpc.client.attempt.duration xds:///x OK svc svc",
		"grpc.client.attempt.duration xds://else/x NOT_FOUND",
		"grpc.client.attempt.duration xds://else/x OK",
		"grpc.client.attempt.duration xds://" + trafficDirector + "/x NOT_FOUND svc svc",
		"grpc.client.attempt.duration xds://" + trafficDirector + "/x OK svc svc",
		"grpc.client.call.duration xds:///x NOT_FOUND",
		"grpc.client.call.duration xds:///x OK",
		"grpc.client.call.duration xds://else/x NOT_FOUND",
		"grpc.client.call.duration xds://else/x OK",
		"grpc.client.call.duration xds://" + trafficDirector + "/x NOT_FOUND",
		"grpc.client.call.duration xds://" + trafficDirector + "/x OK",
		"grpc.server.call.duration NOT_FOUND svc svc",
		"grpc.server.call.duration NOT_FOUND svc unknown",
		"grpc.server.call.duration OK svc svc",
		"grpc.server.call.duration OK svc unknown",
	}
	if !slices.Equal(got, want) {
		t.Errorf("measured:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	disable()
	if p := telemetry.Global(); len(p.Clients) != 0 || len(p.Servers) != 0 {
		t.Errorf("%+v are left", p)
	}
}

// TestRelayedIdentity: each end tells of itself alone, also if it relays what another end has told it.
func TestRelayedIdentity(t *testing.T) {
	cloud := httptest.NewServer(http.NotFoundHandler())
	defer cloud.Close()
	t.Setenv("GCE_METADATA_HOST", cloud.Listener.Addr().String())
	defer EnableObservability(t.Context(), opentelemetry.Options{})()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := metadata.Pairs(metadataKey, "other", "more", "kept")
	var received []string
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		received = metadata.ValueFromIncomingContext(ctx, metadataKey)
		switch service := req.(*healthpb.HealthCheckRequest).Service; service {
		case "set":
			_ = grpc.SetHeader(ctx, other)
		case "send":
			_ = grpc.SendHeader(ctx, other)
		default:
			_ = grpc.SetTrailer(ctx, other)
			return nil, status.Error(codes.NotFound, service)
		}
		return h(ctx, &healthpb.HealthCheckRequest{})
	}))
	healthpb.RegisterHealthServer(s, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	b := manual.NewBuilderWithScheme("xds")
	b.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: lis.Addr().String()}}})
	cc, err := grpc.NewClient("xds:///x", grpc.WithResolvers(b), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx := metadata.NewOutgoingContext(t.Context(), other)
	for _, service := range []string{"set", "send", "trailers"} {
		var header, trailer metadata.MD
		_, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{Service: service}, grpc.Header(&header), grpc.Trailer(&trailer))
		if want := service == "trailers"; (status.Code(err) == codes.NotFound) != want || !want && err != nil {
			t.Error(err)
		}
		all := metadata.Join(header, trailer)
		if told := all[metadataKey]; len(told) != 1 || told[0] == "other" || len(all["more"]) != 1 {
			t.Errorf("%s: the server told %v", service, all)
		}
		if len(received) != 1 || received[0] == "other" {
			t.Errorf("%s: the client told %q", service, received)
		}
	}
	_ = cc.Close()
	s.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
