// SPDX-License-Identifier: Apache-2.0

// Package stats joins the metrics recorders of a channel or server into one.
package stats

import (
	"fmt"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/stats"
)

// Recorders passes every measurement on to each of its recorders. It panics if the number of
// label values is wrong. It must not be changed once it is in use.
type Recorders struct {
	internal.MetricsRecorderSeal
	list []estats.MetricsRecorder
}

// NewRecorders returns Recorders of more, followed by those stats handlers that also
// implement MetricsRecorder.
func NewRecorders(handlers []stats.Handler, more ...estats.MetricsRecorder) *Recorders {
	r := &Recorders{list: more}
	for _, h := range handlers {
		if recorder, ok := h.(estats.MetricsRecorder); ok {
			r.list = append(r.list, recorder)
		}
	}
	return r
}

// Any reports whether there is a recorder. r may be nil.
func (r *Recorders) Any() bool { return r != nil && len(r.list) > 0 }

// ListOf returns the recorders in r if r is a *Recorders, nothing if r is nil, and otherwise r
// itself. The caller must not change the list.
func ListOf(r estats.MetricsRecorder) []estats.MetricsRecorder {
	if all, ok := r.(*Recorders); ok {
		return all.list
	}
	if r == nil {
		return nil
	}
	return []estats.MetricsRecorder{r}
}

// RecordInt64Count implements MetricsRecorder.
func (r *Recorders) RecordInt64Count(h *estats.Int64CountHandle, incr int64, labels ...string) {
	checkLabels(h.Descriptor(), labels)
	for _, recorder := range r.list {
		recorder.RecordInt64Count(h, incr, labels...)
	}
}

// RecordFloat64Count implements MetricsRecorder.
func (r *Recorders) RecordFloat64Count(h *estats.Float64CountHandle, incr float64, labels ...string) {
	checkLabels(h.Descriptor(), labels)
	for _, recorder := range r.list {
		recorder.RecordFloat64Count(h, incr, labels...)
	}
}

// RecordInt64Histo implements MetricsRecorder.
func (r *Recorders) RecordInt64Histo(h *estats.Int64HistoHandle, value int64, labels ...string) {
	checkLabels(h.Descriptor(), labels)
	for _, recorder := range r.list {
		recorder.RecordInt64Histo(h, value, labels...)
	}
}

// RecordFloat64Histo implements MetricsRecorder.
func (r *Recorders) RecordFloat64Histo(h *estats.Float64HistoHandle, value float64, labels ...string) {
	checkLabels(h.Descriptor(), labels)
	for _, recorder := range r.list {
		recorder.RecordFloat64Histo(h, value, labels...)
	}
}

// RecordInt64Gauge implements MetricsRecorder.
func (r *Recorders) RecordInt64Gauge(h *estats.Int64GaugeHandle, value int64, labels ...string) {
	checkLabels(h.Descriptor(), labels)
	for _, recorder := range r.list {
		recorder.RecordInt64Gauge(h, value, labels...)
	}
}

// RecordInt64UpDownCount implements MetricsRecorder.
func (r *Recorders) RecordInt64UpDownCount(h *estats.Int64UpDownCountHandle, incr int64, labels ...string) {
	checkLabels(h.Descriptor(), labels)
	for _, recorder := range r.list {
		recorder.RecordInt64UpDownCount(h, incr, labels...)
	}
}

// RegisterAsyncReporter implements MetricsRecorder. It registers the reporter with every
// recorder. The function that it returns ends that.
func (r *Recorders) RegisterAsyncReporter(reporter estats.AsyncMetricReporter, metrics ...estats.AsyncMetric) func() {
	checked := estats.AsyncMetricReporterFunc(func(to estats.AsyncMetricsRecorder) error {
		return reporter.Report(checkedAsync{to})
	})
	undo := make([]func(), 0, len(r.list))
	for _, recorder := range r.list {
		undo = append(undo, register(recorder, checked, metrics))
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// checkedAsync passes on what a reporter records, and panics if the number of label values is
// wrong.
type checkedAsync struct {
	to estats.AsyncMetricsRecorder
}

func (c checkedAsync) RecordInt64AsyncGauge(h *estats.Int64AsyncGaugeHandle, value int64, labels ...string) {
	checkLabels(h.Descriptor(), labels)
	c.to.RecordInt64AsyncGauge(h, value, labels...)
}

// checkLabels panics if the number of labels is wrong. Only a mistake in the source of a
// balancer or resolver can cause that; nothing that a peer sends can.
func checkLabels(d *estats.MetricDescriptor, labels []string) {
	if want := len(d.Labels) + len(d.OptionalLabels); len(labels) != want {
		panic(fmt.Sprintf("stats: metric %q takes %d label values, not %d", d.Name, want, len(labels)))
	}
}
