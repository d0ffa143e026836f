// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"
	"fmt"
	"slices"
	"testing"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/stats"
)

// handler is a stats handler without a recorder.
type handler struct{}

func (handler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (handler) HandleRPC(context.Context, stats.RPCStats)                         {}
func (handler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (handler) HandleConn(context.Context, stats.ConnStats)                       {}

// plugin is a stats handler with one.
type plugin struct {
	handler
	estats.UnimplementedMetricsRecorder
	got      []string
	reporter estats.AsyncMetricReporter
}

func (p *plugin) RecordInt64Count(h *estats.Int64CountHandle, v int64, l ...string) {
	p.got = append(p.got, fmt.Sprint(h.Descriptor().Name, v, l))
}

func (p *plugin) RecordInt64AsyncGauge(h *estats.Int64AsyncGaugeHandle, v int64, l ...string) {
	p.got = append(p.got, fmt.Sprint(h.Descriptor().Name, v, l))
}

func (p *plugin) RegisterAsyncReporter(r estats.AsyncMetricReporter, _ ...estats.AsyncMetric) func() {
	p.reporter = r
	return func() { p.reporter = nil }
}

var (
	count = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name: "count", Labels: []string{"a"}, OptionalLabels: []string{"b"},
	})
	gauge = estats.RegisterInt64AsyncGauge(estats.MetricDescriptor{Name: "gauge", Labels: []string{"a"}})
)

func TestRecordersFanOut(t *testing.T) {
	p, q := &plugin{}, &plugin{}
	r := NewRecorders([]stats.Handler{p, handler{}, q})
	count.Record(r, 3, "x", "y")
	undo := r.RegisterAsyncReporter(estats.AsyncMetricReporterFunc(func(to estats.AsyncMetricsRecorder) error {
		gauge.Record(to, 4, "z")
		return nil
	}), gauge)
	want := []string{"count3 [x y]", "gauge4 [z]"}
	for _, p := range []*plugin{p, q} {
		if err := p.reporter.Report(p); err != nil {
			t.Error(err)
		}
		if !slices.Equal(p.got, want) {
			t.Errorf("got %q, want %q", p.got, want)
		}
	}
	undo()
	if p.reporter != nil || q.reporter != nil {
		t.Error("the reporter is still registered")
	}
}

// kinds counts which methods are called.
type kinds struct {
	handler
	estats.UnimplementedMetricsRecorder
	got [5]int
}

func (k *kinds) RecordFloat64Count(*estats.Float64CountHandle, float64, ...string) { k.got[0]++ }

func (k *kinds) RecordInt64Histo(*estats.Int64HistoHandle, int64, ...string) { k.got[1]++ }

func (k *kinds) RecordFloat64Histo(*estats.Float64HistoHandle, float64, ...string) { k.got[2]++ }

func (k *kinds) RecordInt64Gauge(*estats.Int64GaugeHandle, int64, ...string) { k.got[3]++ }

func (k *kinds) RecordInt64UpDownCount(*estats.Int64UpDownCountHandle, int64, ...string) { k.got[4]++ }

func TestEveryKindIsPassedOn(t *testing.T) {
	k := &kinds{}
	r := NewRecorders([]stats.Handler{k})
	new(estats.Float64CountHandle).Record(r, 1)
	new(estats.Int64HistoHandle).Record(r, 1)
	new(estats.Float64HistoHandle).Record(r, 1)
	new(estats.Int64GaugeHandle).Record(r, 1)
	new(estats.Int64UpDownCountHandle).Record(r, 1)
	if k.got != [5]int{1, 1, 1, 1, 1} {
		t.Errorf("calls %v", k.got)
	}
}

func TestRecordersCheckLabels(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	count.Record(NewRecorders(nil), 1, "x")
}

func TestRecordersAllocateNothing(t *testing.T) {
	r := NewRecorders(nil)
	if n := testing.AllocsPerRun(100, func() { count.Record(r, 1, "x", "y") }); n > 1 {
		t.Errorf("%v allocations a record", n) // the labels
	}
}
