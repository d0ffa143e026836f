// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"slices"
	"strings"
)

// LoadMetrics says which backend metrics go into load reports (A64, A85).
type LoadMetrics struct {
	CPU, Memory, Application, AllNamed bool
	// Prefixed says to report named metrics as "named_metrics.<name>" (A85).
	Prefixed bool
	// Named are the named metrics that go into reports unless AllNamed is set.
	Named []string
}

// parseLoadMetrics ignores names that it does not know. If chosen is false, the resource
// can't choose metrics, and reports have all named ones.
func parseLoadMetrics(names []string, chosen bool) LoadMetrics {
	if !chosen {
		return LoadMetrics{AllNamed: true}
	}
	m := LoadMetrics{Prefixed: true}
	for _, name := range names {
		switch name {
		case "cpu_utilization":
			m.CPU = true
		case "mem_utilization":
			m.Memory = true
		case "application_utilization":
			m.Application = true
		case "named_metrics.*":
			m.AllNamed = true
		default:
			if key, ok := strings.CutPrefix(name, "named_metrics."); ok {
				m.Named = append(m.Named, key)
			}
		}
	}
	if m.AllNamed {
		m.Named = nil
	}
	slices.Sort(m.Named)
	m.Named = slices.Compact(m.Named)
	return m
}

// Key returns a string that is the same for equal values.
func (m LoadMetrics) Key() string {
	return fmt.Sprint(m.CPU, m.Memory, m.Application, m.AllNamed, m.Prefixed, m.Named)
}
