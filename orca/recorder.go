// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"maps"
	"math"
	"sync"
)

// ServerMetricsProvider tells the server's metrics.
type ServerMetricsProvider interface {
	// ServerMetrics returns the present metrics, nil for none. Nobody changes them
	// afterwards. It is called from several goroutines, at each RPC or report.
	ServerMetrics() *ServerMetrics
}

// ServerMetricsRecorder holds the metrics of a server: what is set stays until it is set
// again or deleted. It is safe for concurrent use. Values out of range, and those that
// are not a number, are ignored.
type ServerMetricsRecorder interface {
	ServerMetricsProvider

	// SetCPUUtilization sets the use of CPU: from 0 up, 1 is all of it.
	SetCPUUtilization(float64)
	// DeleteCPUUtilization deletes the use of CPU.
	DeleteCPUUtilization()
	// SetMemoryUtilization sets the use of memory: 0 to 1.
	SetMemoryUtilization(float64)
	// DeleteMemoryUtilization deletes the use of memory.
	DeleteMemoryUtilization()
	// SetApplicationUtilization sets how busy the application is: from 0 up.
	SetApplicationUtilization(float64)
	// DeleteApplicationUtilization deletes how busy the application is.
	DeleteApplicationUtilization()
	// SetQPS sets queries a second: from 0 up.
	SetQPS(float64)
	// DeleteQPS deletes queries a second.
	DeleteQPS()
	// SetEPS sets errors a second: from 0 up.
	SetEPS(float64)
	// DeleteEPS deletes errors a second.
	DeleteEPS()
	// SetNamedUtilization sets the use of a resource of any name: 0 to 1.
	SetNamedUtilization(string, float64)
	// DeleteNamedUtilization deletes the use of a resource.
	DeleteNamedUtilization(string)
}

// CallMetricsRecorder is the recorder of one RPC. What it holds goes before what the
// server's ServerMetricsProvider says.
type CallMetricsRecorder interface {
	ServerMetricsRecorder

	// SetRequestCost sets a cost of the RPC, of any name.
	SetRequestCost(string, float64)
	// DeleteRequestCost deletes a cost.
	DeleteRequestCost(string)
	// SetNamedMetric sets anything else, of any name.
	SetNamedMetric(string, float64)
	// DeleteNamedMetric deletes what SetNamedMetric set.
	DeleteNamedMetric(string)
}

// NewServerMetricsRecorder returns a recorder that holds nothing.
func NewServerMetricsRecorder() ServerMetricsRecorder {
	return newRecorder()
}

// recorder is both kinds of recorder.
type recorder struct {
	mu      sync.Mutex
	metrics *ServerMetrics
	shared  bool // somebody else has metrics, so they must not be changed
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

// set is edit for a value from 0 to limit; NaN is not.
func (r *recorder) set(v, limit float64, f func(*ServerMetrics)) {
	if !(v >= 0 && v <= limit) {
		if logger.V(2) {
			logger.Infof("the metric %v is out of its range, 0 to %v; it is ignored", v, limit)
		}
		return
	}
	r.edit(f)
}

// edit changes the metrics, or a copy if somebody else has them.
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
