// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"net"
	"sync"
	"testing"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/admin"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/xds/resource"
	gstats "google.golang.org/grpc/stats"
	"google.golang.org/grpc/xds"
)

// dialAdmin returns a channel to a server with the services of package admin.
func dialAdmin(t *testing.T) *grpc.ClientConn {
	t.Helper()
	gs := grpc.NewServer()
	cleanup, err := admin.Register(gs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cleanup)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go gs.Serve(lis) // it ends with Stop
	t.Cleanup(gs.Stop)
	cc, err := grpc.NewClient("passthrough:///"+lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

// TestA38A40Admin: package admin registers the service, which shows what the process's clients have.
func TestA38A40Admin(t *testing.T) {
	cc := dialAdmin(t)
	st, err := statusv3.NewClientStatusDiscoveryServiceClient(cc).StreamClientStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := st.Send(&statusv3.ClientStatusRequest{}); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Recv(); err != nil {
			t.Fatal(err)
		}
	}
}

// recorder counts what is recorded, by metric and target.
type recorder struct {
	internal.MetricsRecorderSeal
	mu     sync.Mutex
	counts map[string]int64
	labels map[string][]string // of the last record
}

func (r *recorder) count(key string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[key]
}

func (r *recorder) labelsOf(key string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.labels[key]
}

func (r *recorder) RecordInt64Count(h *stats.Int64CountHandle, n int64, labels ...string) {
	r.record(h.Name, n, labels)
}

func (r *recorder) RecordFloat64Histo(h *stats.Float64HistoHandle, _ float64, labels ...string) {
	r.record(h.Name, 1, labels)
}

func (r *recorder) record(name string, n int64, labels []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := name + " " + labels[0]
	r.counts[key] += n
	if r.labels == nil {
		r.labels = make(map[string][]string)
	}
	r.labels[key] = append([]string(nil), labels...)
}
func (*recorder) RecordFloat64Count(*stats.Float64CountHandle, float64, ...string)       {}
func (*recorder) RecordInt64Histo(*stats.Int64HistoHandle, int64, ...string)             {}
func (*recorder) RecordInt64Gauge(*stats.Int64GaugeHandle, int64, ...string)             {}
func (*recorder) RecordInt64UpDownCount(*stats.Int64UpDownCountHandle, int64, ...string) {}
func (*recorder) RegisterAsyncReporter(stats.AsyncMetricReporter, ...stats.AsyncMetric) func() {
	return func() {}
}
func (*recorder) TagRPC(ctx context.Context, _ *gstats.RPCTagInfo) context.Context   { return ctx }
func (*recorder) HandleRPC(context.Context, gstats.RPCStats)                         {}
func (*recorder) TagConn(ctx context.Context, _ *gstats.ConnTagInfo) context.Context { return ctx }
func (*recorder) HandleConn(context.Context, gstats.ConnStats)                       {}

// TestA78Server: a server's recorders get the metrics of the xDS client that servers share.
func TestA78Server(t *testing.T) {
	p := newPlane(t)
	r := &recorder{counts: map[string]int64{}}
	pool := serverPool(t, p, "")
	s := serveXDS(t, pool, "127.0.0.1", grpc.StatsHandler(r))
	p.set(s.listener(inline(takes("", ""))))
	s.wantMode(connectivity.ServingModeServing)
	r.mu.Lock()
	if n := r.counts["grpc.xds_client.resource_updates_valid #server"]; n != 1 {
		t.Errorf("%v", r.counts)
	}
	r.mu.Unlock()
	list := pool.Clients()["#server"].Resources()
	if len(list) != 1 || list[0].TypeURL != resource.ListenerURL || list[0].Name != s.name() {
		t.Errorf("%+v", list)
	}
	_, err := xds.NewGRPCServer(xds.BootstrapContentsForTesting([]byte("{")))
	if err == nil {
		t.Error("a bootstrap that is not valid is accepted")
	}
	if _, err := xds.NewGRPCServer(xds.BootstrapContentsForTesting([]byte(bootstrapText(p)))); err == nil {
		t.Error("a bootstrap without a template is accepted")
	}
}
