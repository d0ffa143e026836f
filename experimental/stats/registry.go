// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/stats"
)

// DefaultMetrics are the metrics that were registered with Default set. Each registration may replace the
// set, so read it after the program's init functions have run.
var DefaultMetrics = stats.NewMetricSet()

// registry holds every registered metric by name. Init functions of different packages fill it. The
// mutex makes later registrations safe too.
var registry = struct {
	sync.RWMutex
	byName map[string]*MetricDescriptor
}{byName: make(map[string]*MetricDescriptor)}

// DescriptorForMetric returns the descriptor of a registered metric, or nil if there is none with that
// name. Do not change it.
func DescriptorForMetric(metricName string) *MetricDescriptor {
	registry.RLock()
	defer registry.RUnlock()
	return registry.byName[metricName]
}

// RegisterInt64Count registers a counter of whole numbers, and sets the Type of its descriptor. Call it in
// an init function. It panics if the name is taken.
func RegisterInt64Count(descriptor MetricDescriptor) *Int64CountHandle {
	return (*Int64CountHandle)(register(descriptor, MetricTypeIntCount))
}

// RegisterFloat64Count registers a counter of floating point numbers, and sets the Type of its descriptor.
// Call it in an init function. It panics if the name is taken.
func RegisterFloat64Count(descriptor MetricDescriptor) *Float64CountHandle {
	return (*Float64CountHandle)(register(descriptor, MetricTypeFloatCount))
}

// RegisterInt64Histo registers a histogram of whole numbers, and sets the Type of its descriptor. Call it in
// an init function. It panics if the name is taken.
func RegisterInt64Histo(descriptor MetricDescriptor) *Int64HistoHandle {
	return (*Int64HistoHandle)(register(descriptor, MetricTypeIntHisto))
}

// RegisterFloat64Histo registers a histogram of floating point numbers, and sets the Type of its descriptor.
// Call it in an init function. It panics if the name is taken.
func RegisterFloat64Histo(descriptor MetricDescriptor) *Float64HistoHandle {
	return (*Float64HistoHandle)(register(descriptor, MetricTypeFloatHisto))
}

// RegisterInt64Gauge registers a gauge of whole numbers, and sets the Type of its descriptor. Call it in an
// init function. It panics if the name is taken.
func RegisterInt64Gauge(descriptor MetricDescriptor) *Int64GaugeHandle {
	return (*Int64GaugeHandle)(register(descriptor, MetricTypeIntGauge))
}

// RegisterInt64UpDownCount registers a sum of whole numbers that goes up and down, and sets the Type of its
// descriptor. Call it in an init function. It panics if the name is taken.
func RegisterInt64UpDownCount(descriptor MetricDescriptor) *Int64UpDownCountHandle {
	return (*Int64UpDownCountHandle)(register(descriptor, MetricTypeIntUpDownCount))
}

// RegisterInt64AsyncGauge registers a gauge whose value is read at each collection, and sets the Type of its
// descriptor. Call it in an init function. It panics if the name is taken.
func RegisterInt64AsyncGauge(descriptor MetricDescriptor) *Int64AsyncGaugeHandle {
	return (*Int64AsyncGaugeHandle)(register(descriptor, MetricTypeIntAsyncGauge))
}

func register(d MetricDescriptor, t MetricType) *MetricDescriptor {
	d.Type = t
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.byName[d.Name]; taken {
		panic(fmt.Sprintf("stats: metric %q is registered already", d.Name))
	}
	registry.byName[d.Name] = &d
	if d.Default {
		DefaultMetrics = DefaultMetrics.Add(d.Name)
	}
	return &d
}
