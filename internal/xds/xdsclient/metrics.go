// SPDX-License-Identifier: Apache-2.0

package xdsclient

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	estats "google.golang.org/grpc/experimental/stats"
	istats "google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/stats"
)

// The metrics of gRFC A78, with the resource states of A88.
var (
	connected = estats.RegisterInt64AsyncGauge(estats.MetricDescriptor{
		Name:        "grpc.xds_client.connected",
		Description: "EXPERIMENTAL. Whether the xDS client has a working ADS stream to the control plane.",
		Unit:        "{bool}",
		Labels:      []string{"grpc.target", "grpc.xds.server"},
	})
	serverFailure = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:        "grpc.xds_client.server_failure",
		Description: "EXPERIMENTAL. How often a control plane that worked stopped to.",
		Unit:        "{failure}",
		Labels:      []string{"grpc.target", "grpc.xds.server"},
	})
	updatesValid = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:        "grpc.xds_client.resource_updates_valid",
		Description: "EXPERIMENTAL. Resources that came and were valid, those too that had not changed.",
		Unit:        "{resource}",
		Labels:      []string{"grpc.target", "grpc.xds.server", "grpc.xds.resource_type"},
	})
	updatesInvalid = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:        "grpc.xds_client.resource_updates_invalid",
		Description: "EXPERIMENTAL. Resources that came and were not valid.",
		Unit:        "{resource}",
		Labels:      []string{"grpc.target", "grpc.xds.server", "grpc.xds.resource_type"},
	})
	resources = estats.RegisterInt64AsyncGauge(estats.MetricDescriptor{
		Name:        "grpc.xds_client.resources",
		Description: "EXPERIMENTAL. Resources that are watched.",
		Unit:        "{resource}",
		Labels:      []string{"grpc.target", "grpc.xds.authority", "grpc.xds.cache_state", "grpc.xds.resource_type"},
	})
)

// metrics are the metrics of one Client. A recorder gets each of them once, even if several channels use it.
type metrics struct {
	target string
	client *client.Client
	gauges *istats.Shared

	mu        sync.Mutex
	recorders map[estats.MetricsRecorder]int       // the number of channels that use each
	apart     map[*estats.MetricsRecorder]struct{} // those that can't be compared
}

func newMetrics(target string) *metrics {
	m := &metrics{target: target, recorders: make(map[estats.MetricsRecorder]int)}
	m.gauges = istats.NewShared(estats.AsyncMetricReporterFunc(m.report), []estats.AsyncMetric{connected, resources})
	return m
}

// add makes recorders receive the metrics until stop is called. The recorders are others, and those handlers
// that are recorders too.
func (m *metrics) add(handlers []stats.Handler, others ...estats.MetricsRecorder) (stop func()) {
	stopGauges := m.gauges.Add(handlers, others...)
	all := slices.Clone(others)
	for _, h := range handlers {
		if r, ok := h.(estats.MetricsRecorder); ok {
			all = append(all, r)
		}
	}
	m.count(all, 1)
	return func() {
		m.count(all, -1)
		if stopGauges != nil {
			stopGauges()
		}
	}
}

func (m *metrics) count(all []estats.MetricsRecorder, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range all {
		if !reflect.ValueOf(r).Comparable() {
			m.countApart(&all[i], n)
			continue
		}
		if m.recorders[r] += n; m.recorders[r] == 0 {
			delete(m.recorders, r)
		}
	}
}

// countApart is count for a recorder that can't be compared. Each that is added is one of its own. m.mu is held.
func (m *metrics) countApart(r *estats.MetricsRecorder, n int) {
	if n < 0 {
		delete(m.apart, r)
		return
	}
	if m.apart == nil {
		m.apart = make(map[*estats.MetricsRecorder]struct{})
	}
	m.apart[r] = struct{}{}
}

// each calls f for each recorder, without the lock.
func (m *metrics) each(f func(estats.MetricsRecorder)) {
	m.mu.Lock()
	all := slices.Collect(maps.Keys(m.recorders))
	for r := range m.apart {
		all = append(all, *r)
	}
	m.mu.Unlock()
	for _, r := range all {
		f(r)
	}
}

// Updates implements client.Metrics.
func (m *metrics) Updates(server, url string, valid, invalid int) {
	typ := typeOf(url)
	m.each(func(r estats.MetricsRecorder) {
		if valid > 0 {
			updatesValid.Record(r, int64(valid), m.target, server, typ)
		}
		if invalid > 0 {
			updatesInvalid.Record(r, int64(invalid), m.target, server, typ)
		}
	})
}

// ServerFailure implements client.Metrics.
func (m *metrics) ServerFailure(server string) {
	m.each(func(r estats.MetricsRecorder) { serverFailure.Record(r, 1, m.target, server) })
}

// typeOf returns the part of a type URL behind the last slash.
func typeOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

func (m *metrics) report(r estats.AsyncMetricsRecorder) error {
	for server, ok := range m.client.Servers() {
		n := int64(0)
		if ok {
			n = 1
		}
		connected.Record(r, n, m.target, server)
	}
	type key struct{ authority, state, typ string }
	counts := make(map[key]int64)
	for _, res := range m.client.Resources() {
		authority := "#old"
		if res.Federated {
			authority = res.Authority
		}
		counts[key{authority, stateName(&res), typeOf(res.TypeURL)}]++
	}
	for k, n := range counts {
		resources.Record(r, n, m.target, k.authority, k.state, k.typ)
	}
	return nil
}

// stateName returns the name of a resource's state in metrics (A78, A88).
func stateName(r *client.Resource) string {
	name := map[client.State]string{
		client.Requested: "requested", client.DoesNotExist: "does_not_exist", client.ACKed: "acked", client.NACKed: "nacked",
		client.ReceivedError: "received_error", client.TimedOut: "timeout",
	}[r.State]
	if r.Raw != nil && r.State != client.ACKed {
		name += "_but_cached"
	}
	return name
}
