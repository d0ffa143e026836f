// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"maps"

	orcapb "github.com/cncf/xds/go/xds/data/orca/v3"
)

// ServerMetrics are measurements. A number below zero stands for one that was not made.
type ServerMetrics struct {
	// CPUUtilization is used CPU as a fraction of what there is, or of a soft limit:
	// it may be above 1.
	CPUUtilization float64
	// MemUtilization is used memory as a fraction of what there is.
	MemUtilization float64
	// AppUtilization is how busy the application says it is, a fraction that may be
	// above 1.
	AppUtilization float64
	// QPS is queries a second.
	QPS float64
	// EPS is errors a second.
	EPS float64

	// Utilization holds used resources, each as a fraction of what there is, by names
	// of the application.
	Utilization map[string]float64
	// RequestCost holds what one RPC cost, by names of the application. It is not sent
	// out of band.
	RequestCost map[string]float64
	// NamedMetrics holds anything else about one RPC, by names of the application. It
	// is not sent out of band.
	NamedMetrics map[string]float64
}

// unset returns metrics of which none was measured.
func unset() ServerMetrics {
	return ServerMetrics{
		CPUUtilization: -1, MemUtilization: -1, AppUtilization: -1, QPS: -1, EPS: -1,
		Utilization: map[string]float64{}, RequestCost: map[string]float64{}, NamedMetrics: map[string]float64{},
	}
}

// overlay puts what o has over what is in m. m's maps are not changed but replaced.
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

// merged may return one of its arguments.
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

// report returns the metrics as they are sent. It shares their maps.
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
