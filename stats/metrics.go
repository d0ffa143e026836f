// SPDX-License-Identifier: Apache-2.0

package stats

import "maps"

// MetricSet is a set of metric names. It is immutable, so goroutines may share it;
// Add, Join and Remove return a new set. A nil set is an empty set.
type MetricSet struct {
	names map[string]bool
}

// NewMetricSet returns a set of the given names.
func NewMetricSet(metricNames ...string) *MetricSet {
	s := &MetricSet{names: make(map[string]bool, len(metricNames))}
	for _, name := range metricNames {
		s.names[name] = true
	}
	return s
}

// Metrics returns the names, each mapped to true. The caller must not change the map, which
// belongs to the set.
func (m *MetricSet) Metrics() map[string]bool {
	if m == nil {
		return nil
	}
	return m.names
}

// Add returns a set of m's names and the given ones.
func (m *MetricSet) Add(metricNames ...string) *MetricSet {
	sum := m.clone(len(metricNames))
	for _, name := range metricNames {
		sum.names[name] = true
	}
	return sum
}

// Join returns a set of the names that are in m, in other or in both.
func (m *MetricSet) Join(other *MetricSet) *MetricSet {
	sum := m.clone(len(other.Metrics()))
	maps.Copy(sum.names, other.Metrics())
	return sum
}

// Remove returns a set of m's names without the given ones.
func (m *MetricSet) Remove(metricNames ...string) *MetricSet {
	rest := m.clone(0)
	for _, name := range metricNames {
		delete(rest.names, name)
	}
	return rest
}

func (m *MetricSet) clone(extra int) *MetricSet {
	c := &MetricSet{names: make(map[string]bool, len(m.Metrics())+extra)}
	maps.Copy(c.names, m.Metrics())
	return c
}
