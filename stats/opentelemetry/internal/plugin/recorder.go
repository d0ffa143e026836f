// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal"
)

// recorder records the metrics that are not about one RPC (gRFC A79). It records those that
// are on and that are registered with experimental/stats when the plugin is made.
type recorder struct {
	internal.MetricsRecorderSeal
	meter metric.Meter
	ready map[*estats.MetricDescriptor]*instrument
}

// instrument is the instrument of one such metric. Only the field for the type of its
// descriptor is set; the others are nil.
type instrument struct {
	labels []attribute.Key // one for each label value, in order; "" for a label that is off

	int64Counter     metric.Int64Counter
	float64Counter   metric.Float64Counter
	int64Histogram   metric.Int64Histogram
	float64Histogram metric.Float64Histogram
	int64Gauge       metric.Int64Gauge
	int64UpDown      metric.Int64UpDownCounter
	int64Async       metric.Int64ObservableGauge
}

func newRecorder(meter metric.Meter, c *Config) *recorder {
	r := &recorder{meter: meter, ready: map[*estats.MetricDescriptor]*instrument{}}
	for name := range c.Metrics.Metrics() {
		d := estats.DescriptorForMetric(name)
		if d == nil {
			continue // a metric of RPCs, or of a package that the program does not import
		}
		i := &instrument{}
		for _, l := range d.Labels {
			i.labels = append(i.labels, attribute.Key(l))
		}
		for _, l := range d.OptionalLabels {
			if !slices.Contains(c.OptionalLabels, l) {
				l = ""
			}
			i.labels = append(i.labels, attribute.Key(l))
		}
		if err := i.make(meter, d); err != nil {
			otel.Handle(err)
			continue
		}
		r.ready[d] = i
	}
	return r
}

// make makes the instrument that d describes.
func (i *instrument) make(meter metric.Meter, d *estats.MetricDescriptor) (err error) {
	unit, text, bounds := metric.WithUnit(d.Unit), metric.WithDescription(d.Description), metric.WithExplicitBucketBoundaries(d.Bounds...)
	switch d.Type {
	case estats.MetricTypeIntCount:
		i.int64Counter, err = meter.Int64Counter(d.Name, unit, text)
	case estats.MetricTypeFloatCount:
		i.float64Counter, err = meter.Float64Counter(d.Name, unit, text)
	case estats.MetricTypeIntHisto:
		i.int64Histogram, err = meter.Int64Histogram(d.Name, unit, text, bounds)
	case estats.MetricTypeFloatHisto:
		i.float64Histogram, err = meter.Float64Histogram(d.Name, unit, text, bounds)
	case estats.MetricTypeIntGauge:
		i.int64Gauge, err = meter.Int64Gauge(d.Name, unit, text)
	case estats.MetricTypeIntUpDownCount:
		i.int64UpDown, err = meter.Int64UpDownCounter(d.Name, unit, text)
	case estats.MetricTypeIntAsyncGauge:
		i.int64Async, err = meter.Int64ObservableGauge(d.Name, unit, text)
	}
	return err
}

// at returns an option with the attributes for the label values, without labels that are off.
func (i *instrument) at(values []string) metric.MeasurementOption {
	attrs := make([]attribute.KeyValue, 0, len(i.labels))
	for n, key := range i.labels {
		if key != "" && n < len(values) {
			attrs = append(attrs, key.String(valid(values[n])))
		}
	}
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

// RecordInt64Count implements MetricsRecorder.
func (r *recorder) RecordInt64Count(h *estats.Int64CountHandle, incr int64, labels ...string) {
	if i := r.ready[h.Descriptor()]; i != nil {
		i.int64Counter.Add(context.Background(), incr, i.at(labels))
	}
}

// RecordFloat64Count implements MetricsRecorder.
func (r *recorder) RecordFloat64Count(h *estats.Float64CountHandle, incr float64, labels ...string) {
	if i := r.ready[h.Descriptor()]; i != nil {
		i.float64Counter.Add(context.Background(), incr, i.at(labels))
	}
}

// RecordInt64Histo implements MetricsRecorder.
func (r *recorder) RecordInt64Histo(h *estats.Int64HistoHandle, value int64, labels ...string) {
	if i := r.ready[h.Descriptor()]; i != nil {
		i.int64Histogram.Record(context.Background(), value, i.at(labels))
	}
}

// RecordFloat64Histo implements MetricsRecorder.
func (r *recorder) RecordFloat64Histo(h *estats.Float64HistoHandle, value float64, labels ...string) {
	if i := r.ready[h.Descriptor()]; i != nil {
		i.float64Histogram.Record(context.Background(), value, i.at(labels))
	}
}

// RecordInt64Gauge implements MetricsRecorder.
func (r *recorder) RecordInt64Gauge(h *estats.Int64GaugeHandle, value int64, labels ...string) {
	if i := r.ready[h.Descriptor()]; i != nil {
		i.int64Gauge.Record(context.Background(), value, i.at(labels))
	}
}

// RecordInt64UpDownCount implements MetricsRecorder.
func (r *recorder) RecordInt64UpDownCount(h *estats.Int64UpDownCountHandle, incr int64, labels ...string) {
	if i := r.ready[h.Descriptor()]; i != nil {
		i.int64UpDown.Add(context.Background(), incr, i.at(labels))
	}
}

// RegisterAsyncReporter implements MetricsRecorder.
func (r *recorder) RegisterAsyncReporter(reporter estats.AsyncMetricReporter, metrics ...estats.AsyncMetric) func() {
	var gauges []metric.Observable
	for _, m := range metrics {
		if i := r.ready[m.Descriptor()]; i != nil {
			gauges = append(gauges, i.int64Async)
		}
	}
	if len(gauges) == 0 {
		return func() {}
	}
	registered, err := r.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		return reporter.Report(&observing{recorder: r, observer: o})
	}, gauges...)
	if err != nil {
		otel.Handle(err)
		return func() {}
	}
	return func() {
		if err := registered.Unregister(); err != nil {
			otel.Handle(err)
		}
	}
}

// observing is one collection of the gauges' values.
type observing struct {
	recorder *recorder
	observer metric.Observer
}

// RecordInt64AsyncGauge implements AsyncMetricsRecorder.
func (o *observing) RecordInt64AsyncGauge(h *estats.Int64AsyncGaugeHandle, value int64, labels ...string) {
	if i := o.recorder.ready[h.Descriptor()]; i != nil {
		o.observer.ObserveInt64(i.int64Async, value, i.at(labels))
	}
}
