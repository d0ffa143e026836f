// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"time"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/xds/call"
)

// The metrics of gRFC A93: how long the filter holds the events of RPCs.
var (
	clientHeaders   = register("client_headers_duration", "How long the filter holds a client's headers.")
	clientHalfClose = register("client_half_close_duration", "How long the filter holds a client's half-close.")
	serverHeaders   = register("server_headers_duration", "How long the filter holds a server's headers.")
	serverTrailers  = register("server_trailers_duration", "How long the filter holds a server's trailers.")
)

func register(name, description string) *estats.Float64HistoHandle {
	return estats.RegisterFloat64Histo(estats.MetricDescriptor{
		Name: "grpc.client_ext_proc." + name, Description: "EXPERIMENTAL. " + description, Unit: "s",
		Labels: []string{"grpc.target"}, OptionalLabels: []string{"grpc.lb.backend_service"},
		Bounds: []float64{
			0, 0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.013,
			0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 2, 5, 10,
			20, 50, 100,
		},
	})
}

// record records the time since then.
func (p *process) record(h *estats.Float64HistoHandle, since time.Time) {
	if p.filter.channel.Metrics == nil {
		return
	}
	cluster := ""
	if i := call.From(p.ctx); i != nil {
		cluster = i.Cluster
	}
	h.Record(p.filter.channel.Metrics, time.Since(since).Seconds(), p.filter.channel.Target, cluster)
}
