// SPDX-License-Identifier: Apache-2.0

package footprint_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/footprint"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// parks reports whether idle connections park.
func parks() bool { return park.Supported() && envconfig.HTTPFramerReadBufferPooling }

func needsParking(t *testing.T) {
	t.Helper()
	if !parks() {
		t.Skip("no connection parks")
	}
}

// Others of the process may have buffers, too.
func Example() {
	p := mem.DefaultBufferPool()
	b := p.Get(1000)
	now := footprint.Read()
	fmt.Println("buffers:", now.BuffersLent >= 1)
	fmt.Println("bytes:", now.BytesLent >= 1000)
	p.Put(b)
	// Output:
	// buffers: true
	// bytes: true
}

// plugin is a stats handler that records metrics.
type plugin struct {
	estats.UnimplementedMetricsRecorder
	noStats

	mu        sync.Mutex
	reporters []estats.AsyncMetricReporter
	metrics   []estats.AsyncMetric
	values    map[string]int64
}

type noStats struct{}

func (noStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (noStats) HandleRPC(context.Context, stats.RPCStats)                         {}
func (noStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (noStats) HandleConn(context.Context, stats.ConnStats)                       {}

func (p *plugin) RegisterAsyncReporter(r estats.AsyncMetricReporter, metrics ...estats.AsyncMetric) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reporters = append(p.reporters, r)
	p.metrics = metrics
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.reporters = p.reporters[1:]
	}
}

func (p *plugin) RecordInt64AsyncGauge(h *estats.Int64AsyncGaugeHandle, v int64, _ ...string) {
	p.values[h.Descriptor().Name] = v
}

// collect asks all reporters, and returns how many there were.
func (p *plugin) collect(t *testing.T) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values = map[string]int64{}
	for _, r := range p.reporters {
		if err := r.Report(p); err != nil {
			t.Error(err)
		}
	}
	return len(p.reporters)
}

func serve(t *testing.T, opts ...grpc.ServerOption) (addr string, stop func()) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(opts...)
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(lis) }()
	return lis.Addr().String(), func() { s.Stop(); <-done }
}

func dial(t *testing.T, addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	cc, err := grpc.NewClient("passthrough:///"+addr, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	return cc
}

// waitFor looks until what is wanted is so; nothing tells.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); !ok(); <-time.After(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("still waiting for %s: %+v", what, footprint.Read())
		}
	}
}

func TestConnectionsAndParking(t *testing.T) {
	p := &plugin{}
	addr, stop := serve(t, grpc.StatsHandler(p))
	defer stop()
	const n = 5
	channels := make([]*grpc.ClientConn, n)
	for i := range channels {
		channels[i] = dial(t, addr, grpc.WithStatsHandler(p))
		if _, err := healthpb.NewHealthClient(channels[i]).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := footprint.Read(); got.Connections != 2*n || got.Active+got.Parked != 2*n {
		t.Errorf("%+v", got)
	}
	if parks() {
		// The last handler may return after its connection has parked.
		waitFor(t, "all to park and hold nothing", func() bool {
			got := footprint.Read()
			return got.Parked == 2*n && got.Active == 0 && got.BuffersLent == 0 && got.BytesLent == 0
		})
	}
	if k := p.collect(t); k != 1 {
		t.Errorf("%d reporters for one recorder", k)
	}
	want := footprint.Read()
	if p.values["grpc.transport.connections"] != 2*n || p.values["grpc.mem.bytes_kept"] == 0 ||
		p.values["grpc.transport.connections_parked"] != want.Parked || p.values["grpc.transport.connections_active"] != want.Active ||
		p.values["grpc.mem.buffers_lent"] != 0 || p.values["grpc.mem.bytes_lent"] != 0 {
		t.Errorf("reported %v, read %+v", p.values, want)
	}
	for _, cc := range channels {
		cc.Close()
	}
	waitFor(t, "the connections to close", func() bool { return footprint.Read().Connections == 0 })
	if got := footprint.Read(); got.Parked != 0 || got.Active != 0 {
		t.Errorf("in the end %+v", got)
	}
	stop()
	if k := p.collect(t); k != 0 {
		t.Errorf("%d reporters are left", k)
	}
}

func TestRegistration(t *testing.T) {
	p, q := &plugin{}, &plugin{}
	if footprint.Register([]stats.Handler{noStats{}}) != nil {
		t.Error("there is nobody to ask")
	}
	first := footprint.Register([]stats.Handler{p, noStats{}})
	second := footprint.Register([]stats.Handler{p, q})
	first()
	first() // does nothing
	if p.collect(t) != 1 || q.collect(t) != 1 {
		t.Error("not each recorder is asked once")
	}
	var names []string
	for _, m := range p.metrics {
		d := m.Descriptor()
		names = append(names, d.Name)
		if d.Default || d.Unit == "" || len(d.Labels) != 0 {
			t.Errorf("%+v", d)
		}
	}
	if len(names) != len(p.values) || len(names) != len(footprint.Metrics().Metrics()) {
		t.Errorf("promised %v, reported %v", names, p.values)
	}
	for _, n := range names {
		if !footprint.Metrics().Metrics()[n] {
			t.Errorf("%s is not among the names", n)
		}
	}
	second()
	if p.collect(t) != 0 || q.collect(t) != 0 {
		t.Error("asked after the end")
	}
	third := footprint.Register([]stats.Handler{p})
	if p.collect(t) != 1 {
		t.Error("not again")
	}
	third()
}

// list is a recorder that can't be a map's key.
type list struct {
	estats.UnimplementedMetricsRecorder
	noStats
	undone []*int
}

func (l list) RegisterAsyncReporter(estats.AsyncMetricReporter, ...estats.AsyncMetric) func() {
	return func() { *l.undone[0]++ }
}

func TestAnyRecorder(t *testing.T) {
	n := 0
	footprint.Register([]stats.Handler{list{undone: []*int{&n}}})()
	if n != 1 {
		t.Errorf("unregistered %d times", n)
	}
}

func TestConcurrentRegistration(t *testing.T) {
	p := &plugin{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				footprint.Register([]stats.Handler{p})()
				footprint.Read()
			}
		})
	}
	wg.Wait()
	if p.collect(t) != 0 {
		t.Error("some are left")
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { footprint.Read() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRead(b *testing.B) {
	for range b.N {
		footprint.Read()
	}
}
