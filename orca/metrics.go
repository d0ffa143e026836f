// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"maps"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
)

// ServerMetrics are measurements. A number below zero means that the value was not measured.
type ServerMetrics struct {
	// CPUUtilization is the used CPU as a fraction of the available CPU, or of a soft
	// limit. It may be above 1.
	CPUUtilization float64
	// MemUtilization is the used memory as a fraction of the available memory.
	MemUtilization float64
	// AppUtilization is how busy the application says it is. It is a fraction, which
	// may be above 1.
	AppUtilization float64
	// QPS is queries per second.
	QPS float64
	// EPS is errors per second.
	EPS float64

	// Utilization has the utilization of other resources, each as a fraction of what is
	// available, by names that the application chooses.
	Utilization map[string]float64
	// RequestCost has the costs of one RPC, by names that the application chooses. It is
	// not sent out of band.
	RequestCost map[string]float64
	// NamedMetrics has other figures about one RPC, by names that the application
	// chooses. It is not sent out of band.
	NamedMetrics map[string]float64
}

// unset returns metrics in which no value is set.
func unset() ServerMetrics {
	return ServerMetrics{
		CPUUtilization: -1, MemUtilization: -1, AppUtilization: -1, QPS: -1, EPS: -1,
		Utilization: map[string]float64{}, RequestCost: map[string]float64{}, NamedMetrics: map[string]float64{},
	}
}

// overlay sets in m those values that are set in o. It does not change m's maps, but
// replaces them.
func (m *ServerMetrics) overlay(o *ServerMetrics) {
	if o == nil {
		return
	}
	for _, p := range [...]struct{ to, from *float64 }{
		{&m.CPUUtilization, &o.CPUUtilization},
		{&m.MemUtilization, &o.MemUtilization},
		{&m.AppUtilization, &o.AppUtilization},
		{&m.QPS, &o.QPS},
		{&m.EPS, &o.EPS},
	} {
		if *p.from >= 0 {
			*p.to = *p.from
		}
	}
	m.Utilization = merged(m.Utilization, o.Utilization)
	m.RequestCost = merged(m.RequestCost, o.RequestCost)
	m.NamedMetrics = merged(m.NamedMetrics, o.NamedMetrics)
}

// merged returns the entries of both maps; where both have a name, the value is high's. It may
// return one of its arguments.
func merged(low, high map[string]float64) map[string]float64 {
	if len(low) == 0 {
		return high
	}
	if len(high) == 0 {
		return low
	}
	both := maps.Clone(low)
	maps.Copy(both, high)
	return both
}

// report returns the metrics as the message that is sent. The message shares m's maps.
func (m *ServerMetrics) report() *orcapb.OrcaLoadReport {
	return &orcapb.OrcaLoadReport{
		CpuUtilization:         max(m.CPUUtilization, 0),
		MemUtilization:         max(m.MemUtilization, 0),
		ApplicationUtilization: max(m.AppUtilization, 0),
		RpsFractional:          max(m.QPS, 0),
		Eps:                    max(m.EPS, 0),
		Utilization:            m.Utilization,
		RequestCost:            m.RequestCost,
		NamedMetrics:           m.NamedMetrics,
	}
}
