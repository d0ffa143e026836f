// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"maps"
	"math"
	"sync"
)

// ServerMetricsProvider has the server's metrics.
type ServerMetricsProvider interface {
	// ServerMetrics returns the current metrics, or nil if there are none. Neither the
	// provider nor the caller may change them afterwards. It is called for each RPC or
	// report, by several goroutines.
	ServerMetrics() *ServerMetrics
}

// ServerMetricsRecorder holds the metrics of a server. A value stays until it is set again
// or deleted. Values out of range, and NaN, are ignored. It is safe for concurrent use.
type ServerMetricsRecorder interface {
	ServerMetricsProvider

	// SetCPUUtilization sets the utilization of the CPU. It is at least 0, and 1 means
	// all of the CPU.
	SetCPUUtilization(float64)
	// DeleteCPUUtilization deletes the utilization of the CPU.
	DeleteCPUUtilization()
	// SetMemoryUtilization sets the utilization of memory, from 0 to 1.
	SetMemoryUtilization(float64)
	// DeleteMemoryUtilization deletes the utilization of memory.
	DeleteMemoryUtilization()
	// SetApplicationUtilization sets how busy the application is, a value of at least 0.
	SetApplicationUtilization(float64)
	// DeleteApplicationUtilization deletes how busy the application is.
	DeleteApplicationUtilization()
	// SetQPS sets the queries per second, a value of at least 0.
	SetQPS(float64)
	// DeleteQPS deletes the queries per second.
	DeleteQPS()
	// SetEPS sets the errors per second, a value of at least 0.
	SetEPS(float64)
	// DeleteEPS deletes the errors per second.
	DeleteEPS()
	// SetNamedUtilization sets the utilization of the resource with a name, from 0 to 1.
	SetNamedUtilization(string, float64)
	// DeleteNamedUtilization deletes the utilization of a resource.
	DeleteNamedUtilization(string)
}

// CallMetricsRecorder is the recorder of one RPC. In the RPC's report its values replace
// those of the server's ServerMetricsProvider.
type CallMetricsRecorder interface {
	ServerMetricsRecorder

	// SetRequestCost sets the cost of the RPC with a name.
	SetRequestCost(string, float64)
	// DeleteRequestCost deletes a cost.
	DeleteRequestCost(string)
	// SetNamedMetric sets another figure about the RPC, by a name.
	SetNamedMetric(string, float64)
	// DeleteNamedMetric deletes such a figure.
	DeleteNamedMetric(string)
}

// NewServerMetricsRecorder returns a recorder that holds nothing.
func NewServerMetricsRecorder() ServerMetricsRecorder {
	return newRecorder()
}

// recorder implements both kinds of recorder.
type recorder struct {
	mu      sync.Mutex
	metrics *ServerMetrics
	shared  bool // ServerMetrics has returned metrics, so they must not be changed
}

func newRecorder() *recorder {
	m := unset()
	return &recorder{metrics: &m}
}

func (r *recorder) ServerMetrics() *ServerMetrics {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shared = true
	return r.metrics
}

func (r *recorder) SetCPUUtilization(v float64) {
	r.set(v, math.MaxFloat64, func(m *ServerMetrics) { m.CPUUtilization = v })
}

func (r *recorder) DeleteCPUUtilization() {
	r.edit(func(m *ServerMetrics) { m.CPUUtilization = -1 })
}

func (r *recorder) SetMemoryUtilization(v float64) {
	r.set(v, 1, func(m *ServerMetrics) { m.MemUtilization = v })
}

func (r *recorder) DeleteMemoryUtilization() {
	r.edit(func(m *ServerMetrics) { m.MemUtilization = -1 })
}

func (r *recorder) SetApplicationUtilization(v float64) {
	r.set(v, math.MaxFloat64, func(m *ServerMetrics) { m.AppUtilization = v })
}

func (r *recorder) DeleteApplicationUtilization() {
	r.edit(func(m *ServerMetrics) { m.AppUtilization = -1 })
}

func (r *recorder) SetQPS(v float64) {
	r.set(v, math.MaxFloat64, func(m *ServerMetrics) { m.QPS = v })
}

func (r *recorder) DeleteQPS() {
	r.edit(func(m *ServerMetrics) { m.QPS = -1 })
}

func (r *recorder) SetEPS(v float64) {
	r.set(v, math.MaxFloat64, func(m *ServerMetrics) { m.EPS = v })
}

func (r *recorder) DeleteEPS() {
	r.edit(func(m *ServerMetrics) { m.EPS = -1 })
}

func (r *recorder) SetNamedUtilization(name string, v float64) {
	r.set(v, 1, func(m *ServerMetrics) { put(&m.Utilization, name, v) })
}

func (r *recorder) DeleteNamedUtilization(name string) {
	r.edit(func(m *ServerMetrics) { delete(m.Utilization, name) })
}

func (r *recorder) SetRequestCost(name string, v float64) {
	r.edit(func(m *ServerMetrics) { put(&m.RequestCost, name, v) })
}

func (r *recorder) DeleteRequestCost(name string) {
	r.edit(func(m *ServerMetrics) { delete(m.RequestCost, name) })
}

func (r *recorder) SetNamedMetric(name string, v float64) {
	r.edit(func(m *ServerMetrics) { put(&m.NamedMetrics, name, v) })
}

func (r *recorder) DeleteNamedMetric(name string) {
	r.edit(func(m *ServerMetrics) { delete(m.NamedMetrics, name) })
}

func put(m *map[string]float64, name string, v float64) {
	if *m == nil {
		*m = make(map[string]float64)
	}
	(*m)[name] = v
}

// set is edit for a value that must be from 0 to limit. It ignores other values, and NaN.
func (r *recorder) set(v, limit float64, f func(*ServerMetrics)) {
	if !(v >= 0 && v <= limit) {
		if logger.V(2) {
			logger.Infof("the metric %v is out of its range, 0 to %v; it is ignored", v, limit)
		}
		return
	}
	r.edit(f)
}

// edit calls f to change the metrics. If they are shared, it replaces them by a copy first.
func (r *recorder) edit(f func(*ServerMetrics)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shared {
		own := *r.metrics
		own.Utilization = maps.Clone(own.Utilization)
		own.RequestCost = maps.Clone(own.RequestCost)
		own.NamedMetrics = maps.Clone(own.NamedMetrics)
		r.metrics, r.shared = &own, false
	}
	f(r.metrics)
}
