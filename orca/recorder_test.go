// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"math"
	"reflect"
	"sync"
	"testing"
)

func metrics(f func(*ServerMetrics)) *ServerMetrics {
	m := unset()
	f(&m)
	return &m
}

func TestRecorderRanges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		name string
		set  func(CallMetricsRecorder, float64)
		get  func(*ServerMetrics) float64
		good []float64
		bad  []float64
		del  func(CallMetricsRecorder)
	}{
		{
			"CPU", CallMetricsRecorder.SetCPUUtilization, func(m *ServerMetrics) float64 { return m.CPUUtilization },
			[]float64{0, 0.5, 1, 3},
			[]float64{-0.1, nan, inf},
			CallMetricsRecorder.DeleteCPUUtilization,
		}, {
			"memory", CallMetricsRecorder.SetMemoryUtilization, func(m *ServerMetrics) float64 { return m.MemUtilization },
			[]float64{0, 0.5, 1},
			[]float64{-0.1, 1.1, nan, inf},
			CallMetricsRecorder.DeleteMemoryUtilization,
		}, {
			"application", CallMetricsRecorder.SetApplicationUtilization, func(m *ServerMetrics) float64 { return m.AppUtilization },
			[]float64{0, 0.5, 1, 3},
			[]float64{-0.1, nan, inf},
			CallMetricsRecorder.DeleteApplicationUtilization,
		}, {
			"QPS", CallMetricsRecorder.SetQPS, func(m *ServerMetrics) float64 { return m.QPS },
			[]float64{0, 1e9},
			[]float64{-1, nan, inf},
			CallMetricsRecorder.DeleteQPS,
		}, {
			"EPS", CallMetricsRecorder.SetEPS, func(m *ServerMetrics) float64 { return m.EPS },
			[]float64{0, 1e9},
			[]float64{-1, nan, inf},
			CallMetricsRecorder.DeleteEPS,
		}, {
			"named utilization",
			func(r CallMetricsRecorder, v float64) { r.SetNamedUtilization("x", v) },
			func(m *ServerMetrics) float64 {
				if v, ok := m.Utilization["x"]; ok {
					return v
				}
				return -1
			},
			[]float64{0, 0.5, 1},
			[]float64{-0.1, 1.1, nan, inf},
			func(r CallMetricsRecorder) { r.DeleteNamedUtilization("x") },
		},
	} {
		r := newRecorder()
		if got := tt.get(r.ServerMetrics()); got != -1 {
			t.Errorf("%s: %v at first", tt.name, got)
		}
		for _, v := range tt.good {
			tt.set(r, v)
			if got := tt.get(r.ServerMetrics()); got != v {
				t.Errorf("%s: %v, want %v", tt.name, got, v)
			}
		}
		last := tt.good[len(tt.good)-1]
		for _, v := range tt.bad {
			tt.set(r, v)
			if got := tt.get(r.ServerMetrics()); got != last {
				t.Errorf("%s: %v was taken: %v", tt.name, v, got)
			}
		}
		tt.del(r)
		if got := tt.get(r.ServerMetrics()); got != -1 {
			t.Errorf("%s: %v after it was deleted", tt.name, got)
		}
	}
}

func TestRecorderNames(t *testing.T) {
	r := newRecorder()
	r.DeleteRequestCost("none")
	r.DeleteNamedMetric("none")
	r.SetRequestCost("a", -5)
	r.SetRequestCost("b", 5)
	r.SetNamedMetric("c", 1e300)
	r.SetNamedMetric("d", 1)
	before := r.ServerMetrics()
	r.DeleteRequestCost("b")
	r.DeleteNamedMetric("d")
	want := metrics(func(m *ServerMetrics) {
		m.RequestCost = map[string]float64{"a": -5}
		m.NamedMetrics = map[string]float64{"c": 1e300}
	})
	if got := r.ServerMetrics(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(before.RequestCost) != 2 || len(before.NamedMetrics) != 2 {
		t.Errorf("what was handed out has changed: %+v", before)
	}
}

func TestOverlay(t *testing.T) {
	low := metrics(func(m *ServerMetrics) {
		m.CPUUtilization, m.QPS = 0.5, 7
		m.Utilization = map[string]float64{"a": 1, "b": 1}
	})
	high := metrics(func(m *ServerMetrics) {
		m.CPUUtilization, m.MemUtilization = 0, 0.25
		m.Utilization = map[string]float64{"b": 0.5}
		m.RequestCost = map[string]float64{"c": 2}
	})
	got := unset()
	got.overlay(nil)
	got.overlay(low)
	got.overlay(high)
	want := metrics(func(m *ServerMetrics) {
		m.CPUUtilization, m.MemUtilization, m.QPS = 0, 0.25, 7
		m.Utilization = map[string]float64{"a": 1, "b": 0.5}
		m.RequestCost = map[string]float64{"c": 2}
	})
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if low.Utilization["b"] != 1 {
		t.Error("the lower one's map has changed")
	}
}

func TestRecorderFromManyGoroutines(t *testing.T) {
	r := newRecorder()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 100 {
				r.SetNamedUtilization("x", float64(i)/100)
				r.SetQPS(float64(i))
				if m := r.ServerMetrics(); len(m.Utilization) != 1 || m.QPS < 0 {
					t.Errorf("%+v", m)
				}
			}
		})
	}
	wg.Wait()
}

// TestMapsAreThere has a provider of the program's write into what a recorder gives.
func TestMapsAreThere(t *testing.T) {
	m := NewServerMetricsRecorder().ServerMetrics()
	for name, values := range map[string]map[string]float64{
		"Utilization": m.Utilization, "RequestCost": m.RequestCost, "NamedMetrics": m.NamedMetrics,
	} {
		if values == nil {
			t.Errorf("%s is nil", name)
		}
	}
}
