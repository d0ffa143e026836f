// SPDX-License-Identifier: Apache-2.0

package stats_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/experimental/stats"
)

// recorder writes down what it receives.
type recorder struct {
	stats.UnimplementedMetricsRecorder
	got []string
}

func (r *recorder) note(d *stats.MetricDescriptor, value any, labels []string) {
	r.got = append(r.got, fmt.Sprint(d.Name, " ", value, " ", labels))
}

func (r *recorder) RecordInt64Count(h *stats.Int64CountHandle, v int64, l ...string) {
	r.note(h.Descriptor(), v, l)
}

func (r *recorder) RecordFloat64Count(h *stats.Float64CountHandle, v float64, l ...string) {
	r.note(h.Descriptor(), v, l)
}

func (r *recorder) RecordInt64Histo(h *stats.Int64HistoHandle, v int64, l ...string) {
	r.note(h.Descriptor(), v, l)
}

func (r *recorder) RecordFloat64Histo(h *stats.Float64HistoHandle, v float64, l ...string) {
	r.note(h.Descriptor(), v, l)
}

func (r *recorder) RecordInt64Gauge(h *stats.Int64GaugeHandle, v int64, l ...string) {
	r.note(h.Descriptor(), v, l)
}

func (r *recorder) RecordInt64UpDownCount(h *stats.Int64UpDownCountHandle, v int64, l ...string) {
	r.note(h.Descriptor(), v, l)
}

func (r *recorder) RecordInt64AsyncGauge(h *stats.Int64AsyncGaugeHandle, v int64, l ...string) {
	r.note(h.Descriptor(), v, l)
}

// run makes names unique among the runs of go test -count: nothing is unregistered.
var run int

func describe(name string) stats.MetricDescriptor {
	return stats.MetricDescriptor{Name: unique(name), Labels: []string{"one"}}
}

func unique(name string) string { return fmt.Sprint(name, "#", run) }

func TestHandles(t *testing.T) {
	run++
	r := &recorder{}
	stats.RegisterInt64Count(describe("handle.ic")).Record(r, 1, "x")
	stats.RegisterFloat64Count(describe("handle.fc")).Record(r, 1.5, "x")
	stats.RegisterInt64Histo(describe("handle.ih")).Record(r, 2, "x")
	stats.RegisterFloat64Histo(describe("handle.fh")).Record(r, 2.5, "x")
	stats.RegisterInt64Gauge(describe("handle.ig")).Record(r, 3, "x")
	stats.RegisterInt64UpDownCount(describe("handle.ud")).Record(r, -4, "x")
	stats.RegisterInt64AsyncGauge(describe("handle.ag")).Record(r, 5, "x")
	want := []string{
		unique("handle.ic") + " 1 [x]", unique("handle.fc") + " 1.5 [x]", unique("handle.ih") + " 2 [x]", unique("handle.fh") + " 2.5 [x]",
		unique("handle.ig") + " 3 [x]", unique("handle.ud") + " -4 [x]", unique("handle.ag") + " 5 [x]",
	}
	if !slices.Equal(r.got, want) {
		t.Errorf("recorded %q,\nwant %q", r.got, want)
	}
	for name, kind := range map[string]stats.MetricType{
		"handle.ic": stats.MetricTypeIntCount,
		"handle.fc": stats.MetricTypeFloatCount,
		"handle.ih": stats.MetricTypeIntHisto,
		"handle.fh": stats.MetricTypeFloatHisto,
		"handle.ig": stats.MetricTypeIntGauge,
		"handle.ud": stats.MetricTypeIntUpDownCount,
		"handle.ag": stats.MetricTypeIntAsyncGauge,
	} {
		if d := stats.DescriptorForMetric(unique(name)); d == nil || d.Type != kind {
			t.Errorf("%s: %+v, want type %d", name, d, kind)
		}
	}
}

func TestDefaultMetrics(t *testing.T) {
	run++
	on := describe("default.on")
	on.Default = true
	stats.RegisterInt64Count(on)
	stats.RegisterInt64Count(describe("default.off"))
	if m := stats.DefaultMetrics.Metrics(); !m[unique("default.on")] || m[unique("default.off")] {
		t.Errorf("default metrics: %v", m)
	}
	if d := stats.DescriptorForMetric("default.none"); d != nil {
		t.Errorf("a descriptor of nothing: %+v", d)
	}
}

func TestNameTaken(t *testing.T) {
	run++
	stats.RegisterInt64Count(describe("taken"))
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	stats.RegisterFloat64Histo(describe("taken"))
}

func TestUnimplementedDoesNothing(t *testing.T) {
	run++
	var r stats.MetricsRecorder = stats.UnimplementedMetricsRecorder{}
	stats.RegisterInt64Count(describe("unimplemented")).Record(r, 1, "x")
	r.RegisterAsyncReporter(stats.AsyncMetricReporterFunc(func(stats.AsyncMetricsRecorder) error { return nil }))()
}

func TestCustomLabel(t *testing.T) {
	ctx := stats.NewContextWithCustomLabel(context.Background(), "label")
	if got := stats.CustomLabelFromContext(ctx); got != "label" {
		t.Errorf("label %q", got)
	}
	if got := stats.CustomLabelFromContext(context.Background()); got != "" {
		t.Errorf("label of nothing %q", got)
	}
}
