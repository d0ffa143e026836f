// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
)

// recorder is a stats handler that keeps what is recorded, by name and labels.
type recorder struct {
	estats.UnimplementedMetricsRecorder

	mu        sync.Mutex
	counts    map[string]int64
	reporters map[int]estats.AsyncMetricReporter
	next      int
}

func (*recorder) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*recorder) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*recorder) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*recorder) HandleConn(context.Context, stats.ConnStats)                       {}

func (r *recorder) RecordInt64Count(h *estats.Int64CountHandle, n int64, labels ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name := h.Descriptor().Name; strings.HasPrefix(name, "grpc.lb.rls.") {
		r.counts[strings.TrimSuffix(name+" "+strings.Join(labels, " "), " ")] += n
	}
}

func (r *recorder) RegisterAsyncReporter(rep estats.AsyncMetricReporter, metrics ...estats.AsyncMetric) func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(metrics) != 2 {
		return func() {}
	}
	r.next++
	id := r.next
	r.reporters[id] = rep
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.reporters, id)
	}
}

func (r *recorder) RecordInt64AsyncGauge(h *estats.Int64AsyncGaugeHandle, n int64, labels ...string) {
	if len(labels) == 3 && len(labels[2]) == 36 { // the last one is random
		r.counts[h.Descriptor().Name+" "+strings.Join(labels[:2], " ")] = n
	}
}

func TestMetrics(t *testing.T) {
	a, b := newBackend(t), newBackend(t)
	l := newLookups(t, targets("", a.addr))
	rec := &recorder{counts: make(map[string]int64), reporters: make(map[int]estats.AsyncMetricReporter)}
	found := manual.NewBuilderWithScheme("rlsmetrics")
	found.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: "unused"}}})
	newChannel := func(more string) *client {
		cc, err := grpc.NewClient("rlsmetrics:///service.test", grpc.WithResolvers(found), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultServiceConfig(serviceConfig(l, more)), grpc.WithStatsHandler(rec))
		if err != nil {
			t.Fatal(err)
		}
		return &client{cc: cc}
	}
	c := newChannel(`, "defaultTarget": "` + b.addr + `"`)
	c.expect(t, "x", a.addr)
	c.expect(t, "x", a.addr)
	l.set(failure(codes.Internal))
	c.expect(t, "y", b.addr)
	rec.mu.Lock()
	for _, rep := range rec.reporters {
		if err := rep.Report(rec); err != nil {
			t.Error(err)
		}
	}
	rec.mu.Unlock()
	c.cc.Close()
	d := newChannel("")
	if _, err := d.call(t, "z"); err == nil {
		t.Error("no error")
	}
	d.cc.Close()

	rec.mu.Lock()
	defer rec.mu.Unlock()
	labels := " rlsmetrics:///service.test passthrough:///" + l.addr
	const size = "grpc.lb.rls.cache_size"
	if n, least := rec.counts[size+labels], int64(2*answerCost+2*len("/grpc.health.v1.Health/Check")); n < least || n > least+1000 {
		t.Errorf("%s: %d, want %d and some more", size, n, least)
	}
	for name, want := range map[string]int64{
		"grpc.lb.rls.target_picks" + labels + " " + a.addr + " complete":         2,
		"grpc.lb.rls.default_target_picks" + labels + " " + b.addr + " complete": 1,
		"grpc.lb.rls.failed_picks" + labels:                                      1,
		"grpc.lb.rls.cache_entries" + labels:                                     2,
	} {
		if rec.counts[name] != want {
			t.Errorf("%s: %d, want %d, in %v", name, rec.counts[name], want, rec.counts)
		}
	}
	// A balancer may be closed after Close of its channel has returned.
	for end := time.Now().Add(30 * time.Second); len(rec.reporters) != 0; {
		rec.mu.Unlock()
		runtime.Gosched()
		rec.mu.Lock()
		if time.Now().After(end) {
			t.Fatal("the gauges outlive the balancer")
		}
	}
}
