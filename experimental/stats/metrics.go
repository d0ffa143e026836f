// SPDX-License-Identifier: Apache-2.0

// Package stats has the metrics that are not about a single RPC (gRFC A79): balancers, resolvers and
// other components register them, and stats plugins receive their values.
//
// All of it may change, or be removed, in a later release.
package stats

import (
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/stats"
)

// MetricType is the kind of an instrument.
type MetricType int

// The kinds of instruments.
const (
	MetricTypeIntCount MetricType = iota
	MetricTypeFloatCount
	MetricTypeIntHisto
	MetricTypeFloatHisto
	MetricTypeIntGauge
	MetricTypeIntUpDownCount
	MetricTypeIntAsyncGauge
)

// Metric is the name of a metric.
type Metric = string

// Metrics is a set of metric names.
type Metrics = stats.MetricSet

// NewMetrics returns the set of the given metric names.
func NewMetrics(metrics ...Metric) *Metrics {
	return stats.NewMetricSet(metrics...)
}

// MetricDescriptor describes a metric. It must not change once the metric is registered.
type MetricDescriptor struct {
	// Name is unique in the program.
	Name string
	// Description is a text for people.
	Description string
	// Unit is the unit of the values, like "s" or "{attempt}".
	Unit string
	// Labels are the names of the labels that every value has.
	Labels []string
	// OptionalLabels are the names of the labels that a plugin may leave out.
	OptionalLabels []string
	// Default says that plugins record the metric unless it is turned off.
	Default bool
	// Type is set when the metric is registered.
	Type MetricType
	// Bounds are the limits between a histogram's buckets. A plugin may override them.
	Bounds []float64
}

// MetricsRecorder receives the values of registered metrics. Several goroutines may call its methods
// at the same time. An implementation must embed UnimplementedMetricsRecorder.
type MetricsRecorder interface {
	// RecordInt64Count adds incr to a counter.
	RecordInt64Count(handle *Int64CountHandle, incr int64, labels ...string)
	// RecordFloat64Count adds incr to a counter.
	RecordFloat64Count(handle *Float64CountHandle, incr float64, labels ...string)
	// RecordInt64Histo counts value in a histogram.
	RecordInt64Histo(handle *Int64HistoHandle, value int64, labels ...string)
	// RecordFloat64Histo counts value in a histogram.
	RecordFloat64Histo(handle *Float64HistoHandle, value float64, labels ...string)
	// RecordInt64Gauge sets a gauge.
	RecordInt64Gauge(handle *Int64GaugeHandle, value int64, labels ...string)
	// RecordInt64UpDownCount adds incr, which may be negative, to a sum.
	RecordInt64UpDownCount(handle *Int64UpDownCountHandle, incr int64, labels ...string)
	// RegisterAsyncReporter calls reporter at each collection for the values of the given metrics,
	// until the function that it returns is called.
	RegisterAsyncReporter(reporter AsyncMetricReporter, metrics ...AsyncMetric) func()

	internal.EnforceMetricsRecorderEmbedding
}

// AsyncMetricsRecorder receives the values that an AsyncMetricReporter reports.
type AsyncMetricsRecorder interface {
	// RecordInt64AsyncGauge reports the present value of a gauge.
	RecordInt64AsyncGauge(handle *Int64AsyncGaugeHandle, value int64, labels ...string)
}

// AsyncMetric is a metric whose value is read at each collection. The handles of this package
// implement it.
type AsyncMetric interface {
	isAsync()
	// Descriptor returns the registered descriptor. Do not change it.
	Descriptor() *MetricDescriptor
}

func (*Int64AsyncGaugeHandle) isAsync() {}

// AsyncMetricReporter reports values when metrics are collected. Any goroutine may call Report, which
// should not wait.
type AsyncMetricReporter interface {
	// Report records the present values on the recorder that it is given. It must not keep the
	// recorder. An error says that some values could not be determined.
	Report(AsyncMetricsRecorder) error
}

// AsyncMetricReporterFunc adapts a function to AsyncMetricReporter.
type AsyncMetricReporterFunc func(AsyncMetricsRecorder) error

// Report calls f.
func (f AsyncMetricReporterFunc) Report(r AsyncMetricsRecorder) error {
	return f(r)
}

// UnimplementedMetricsRecorder must be embedded in every MetricsRecorder. Methods that are added to
// the interface later then do nothing, instead of breaking the build.
type UnimplementedMetricsRecorder struct {
	internal.EnforceMetricsRecorderEmbedding
}

// RegisterAsyncReporter returns a function that does nothing.
func (UnimplementedMetricsRecorder) RegisterAsyncReporter(AsyncMetricReporter, ...AsyncMetric) func() {
	return func() {}
}

// RecordInt64Gauge does nothing.
func (UnimplementedMetricsRecorder) RecordInt64Gauge(*Int64GaugeHandle, int64, ...string) {}

// RecordInt64UpDownCount does nothing.
func (UnimplementedMetricsRecorder) RecordInt64UpDownCount(*Int64UpDownCountHandle, int64, ...string) {
}

// RecordInt64Count does nothing.
func (UnimplementedMetricsRecorder) RecordInt64Count(*Int64CountHandle, int64, ...string) {}

// RecordInt64Histo does nothing.
func (UnimplementedMetricsRecorder) RecordInt64Histo(*Int64HistoHandle, int64, ...string) {}

// RecordFloat64Count does nothing.
func (UnimplementedMetricsRecorder) RecordFloat64Count(*Float64CountHandle, float64, ...string) {}

// RecordFloat64Histo does nothing.
func (UnimplementedMetricsRecorder) RecordFloat64Histo(*Float64HistoHandle, float64, ...string) {}

// Int64CountHandle is a registered instrument; RegisterInt64Count returns it.
type Int64CountHandle MetricDescriptor

// Descriptor returns what was registered. Do not change it.
func (h *Int64CountHandle) Descriptor() *MetricDescriptor {
	return (*MetricDescriptor)(h)
}

// Record adds incr to the counter, on recorder. The label values are those of Labels and
// then those of OptionalLabels, in the order of the descriptor.
func (h *Int64CountHandle) Record(recorder MetricsRecorder, incr int64, labels ...string) {
	recorder.RecordInt64Count(h, incr, labels...)
}

// Float64CountHandle is a registered instrument; RegisterFloat64Count returns it.
type Float64CountHandle MetricDescriptor

// Descriptor returns what was registered. Do not change it.
func (h *Float64CountHandle) Descriptor() *MetricDescriptor {
	return (*MetricDescriptor)(h)
}

// Record adds incr to the counter, on recorder. The label values are those of Labels and
// then those of OptionalLabels, in the order of the descriptor.
func (h *Float64CountHandle) Record(recorder MetricsRecorder, incr float64, labels ...string) {
	recorder.RecordFloat64Count(h, incr, labels...)
}

// Int64HistoHandle is a registered instrument; RegisterInt64Histo returns it.
type Int64HistoHandle MetricDescriptor

// Descriptor returns what was registered. Do not change it.
func (h *Int64HistoHandle) Descriptor() *MetricDescriptor {
	return (*MetricDescriptor)(h)
}

// Record counts value in the histogram, on recorder. The label values are those of Labels and
// then those of OptionalLabels, in the order of the descriptor.
func (h *Int64HistoHandle) Record(recorder MetricsRecorder, value int64, labels ...string) {
	recorder.RecordInt64Histo(h, value, labels...)
}

// Float64HistoHandle is a registered instrument; RegisterFloat64Histo returns it.
type Float64HistoHandle MetricDescriptor

// Descriptor returns what was registered. Do not change it.
func (h *Float64HistoHandle) Descriptor() *MetricDescriptor {
	return (*MetricDescriptor)(h)
}

// Record counts value in the histogram, on recorder. The label values are those of Labels and
// then those of OptionalLabels, in the order of the descriptor.
func (h *Float64HistoHandle) Record(recorder MetricsRecorder, value float64, labels ...string) {
	recorder.RecordFloat64Histo(h, value, labels...)
}

// Int64GaugeHandle is a registered instrument; RegisterInt64Gauge returns it.
type Int64GaugeHandle MetricDescriptor

// Descriptor returns what was registered. Do not change it.
func (h *Int64GaugeHandle) Descriptor() *MetricDescriptor {
	return (*MetricDescriptor)(h)
}

// Record sets the gauge to value, on recorder. The label values are those of Labels and
// then those of OptionalLabels, in the order of the descriptor.
func (h *Int64GaugeHandle) Record(recorder MetricsRecorder, value int64, labels ...string) {
	recorder.RecordInt64Gauge(h, value, labels...)
}

// Int64UpDownCountHandle is a registered instrument; RegisterInt64UpDownCount returns it.
type Int64UpDownCountHandle MetricDescriptor

// Descriptor returns what was registered. Do not change it.
func (h *Int64UpDownCountHandle) Descriptor() *MetricDescriptor {
	return (*MetricDescriptor)(h)
}

// Record adds incr, which may be negative, to the sum, on recorder. The label values are those of Labels and
// then those of OptionalLabels, in the order of the descriptor.
func (h *Int64UpDownCountHandle) Record(recorder MetricsRecorder, incr int64, labels ...string) {
	recorder.RecordInt64UpDownCount(h, incr, labels...)
}

// Int64AsyncGaugeHandle is a registered instrument whose value is read when metrics are collected;
// RegisterInt64AsyncGauge returns it.
type Int64AsyncGaugeHandle MetricDescriptor

// Descriptor returns what was registered. Do not change it.
func (h *Int64AsyncGaugeHandle) Descriptor() *MetricDescriptor {
	return (*MetricDescriptor)(h)
}

// Record reports the gauge's present value to recorder. An AsyncMetricReporter's Report calls it. The
// label values are those of Labels and then those of OptionalLabels, in the order of the descriptor.
func (h *Int64AsyncGaugeHandle) Record(recorder AsyncMetricsRecorder, value int64, labels ...string) {
	recorder.RecordInt64AsyncGauge(h, value, labels...)
}
