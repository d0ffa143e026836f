// SPDX-License-Identifier: Apache-2.0

package stats

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

// Int64AsyncGaugeHandle is a registered instrument whose value is asked for when metrics
// are collected; RegisterInt64AsyncGauge returns it.
type Int64AsyncGaugeHandle MetricDescriptor

// Descriptor returns what was registered. Do not change it.
func (h *Int64AsyncGaugeHandle) Descriptor() *MetricDescriptor {
	return (*MetricDescriptor)(h)
}

// Record reports the gauge's present value to recorder, from an AsyncMetricReporter's
// Report. The label values are those of Labels and then those of OptionalLabels, in
// the order of the descriptor.
func (h *Int64AsyncGaugeHandle) Record(recorder AsyncMetricsRecorder, value int64, labels ...string) {
	recorder.RecordInt64AsyncGauge(h, value, labels...)
}
