// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"google.golang.org/grpc/experimental/stats"
	istats "google.golang.org/grpc/internal/stats"
	gstats "google.golang.org/grpc/stats"
)

// gauge is a metric of this package. It has no labels, and its value is that of the whole process.
type gauge struct {
	handle *stats.Int64AsyncGaugeHandle
	value  func(*Snapshot) int64
}

var gauges = []gauge{
	newGauge("grpc.transport.connections", "{connection}",
		"HTTP/2 connections of the process that are open.",
		func(s *Snapshot) int64 { return s.Connections }),
	newGauge("grpc.transport.connections_parked", "{connection}",
		"Open connections that are idle and hold neither a goroutine nor a buffer.",
		func(s *Snapshot) int64 { return s.Parked }),
	newGauge("grpc.transport.connections_active", "{connection}",
		"Open connections that are not parked.",
		func(s *Snapshot) int64 { return s.Active }),
	newGauge("grpc.transport.bytes_held", "By",
		"Memory that the peers of connections make them hold.",
		func(s *Snapshot) int64 { return s.BytesHeld }),
	newGauge("grpc.mem.buffers_lent", "{buffer}",
		"Buffers that are out of the buffer pool.",
		func(s *Snapshot) int64 { return s.BuffersLent }),
	newGauge("grpc.mem.bytes_lent", "By",
		"Capacity of the buffers that are out of the buffer pool.",
		func(s *Snapshot) int64 { return s.BytesLent }),
	newGauge("grpc.mem.bytes_kept", "By",
		"What the buffer pool keeps for reuse.",
		func(s *Snapshot) int64 { return s.BytesKept }),
	newGauge("grpc.mem.ballast", "By",
		"Memory that nobody touches, which keeps the collector from running all the time.",
		func(s *Snapshot) int64 { return s.Ballast }),
}

func newGauge(name, unit, description string, value func(*Snapshot) int64) gauge {
	return gauge{stats.RegisterInt64AsyncGauge(stats.MetricDescriptor{
		Name:        name,
		Unit:        unit,
		Description: description,
	}), value}
}

// Metrics returns the names of the gauges. Give them to a stats plugin to make it report the gauges:
//
//	grpc.transport.connections         Snapshot.Connections
//	grpc.transport.connections_parked  Snapshot.Parked
//	grpc.transport.connections_active  Snapshot.Active
//	grpc.transport.bytes_held          Snapshot.BytesHeld
//	grpc.mem.buffers_lent              Snapshot.BuffersLent
//	grpc.mem.bytes_lent                Snapshot.BytesLent
//	grpc.mem.bytes_kept                Snapshot.BytesKept
//	grpc.mem.ballast                   Snapshot.Ballast
func Metrics() *stats.Metrics {
	names := make([]stats.Metric, len(gauges))
	for i, g := range gauges {
		names[i] = g.handle.Name
	}
	return stats.NewMetrics(names...)
}

// Report records the present values of all gauges on r, from one Snapshot. It is a
// stats.AsyncMetricReporterFunc, and never fails.
func Report(r stats.AsyncMetricsRecorder) error {
	s := Read()
	for _, g := range gauges {
		g.handle.Record(r, g.value(&s))
	}
	return nil
}

// Register makes the metrics recorders among handlers, and those in others, ask for the gauges at each
// collection, until stop is called. stop is nil if there is no recorder. Package grpc calls Register for
// each channel and server, so programs need not call it for the handlers that they give to one.
//
// The figures are those of the process. So the gauges are registered only once with each recorder,
// however many channels and servers have it.
func Register(handlers []gstats.Handler, others ...stats.MetricsRecorder) (stop func()) {
	return process.Add(handlers, others...)
}

var process = istats.NewShared(stats.AsyncMetricReporterFunc(Report), handles())

func handles() []stats.AsyncMetric {
	list := make([]stats.AsyncMetric, len(gauges))
	for i, g := range gauges {
		list[i] = g.handle
	}
	return list
}
