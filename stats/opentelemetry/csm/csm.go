// SPDX-License-Identifier: Apache-2.0

// Package csm adds the labels of Google's Cloud Service Mesh to the metrics of package
// stats/opentelemetry. Clients and servers identify themselves to each other in the metadata
// entry x-envoy-peer-metadata, and the measurements of each end have labels of both ends.
package csm

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/stats/opentelemetry/internal/plugin"
)

// EnableObservability records the RPCs of every channel and server that is made from now on,
// as opentelemetry.DialOption and ServerOption do for one channel or server. options say what
// is recorded.
//
// These RPCs take part in the exchange of metadata: all RPCs of servers, and the RPCs of
// channels whose target has the scheme xds and either no authority or the authority
// traffic-director-global.xds.googleapis.com. The metrics that are recorded when such an RPC
// ends have the labels csm.mesh_id, csm.workload_canonical_service, csm.remote_workload_type,
// csm.remote_workload_canonical_service, and others that depend on where the other end runs.
// The metrics of attempts have csm.service_name and csm.service_namespace_name if a control
// plane names the service.
//
// The identity of this end comes from the environment variables CSM_WORKLOAD_NAME,
// CSM_CANONICAL_SERVICE_NAME and CSM_MESH_ID, and from Google Cloud's metadata server. ctx
// bounds the requests to that server. Values that are not known when ctx ends are "unknown".
// So is a value from the other end that is longer than 256 bytes, and all values from an end
// that sends more than 4 KiB.
//
// Call EnableObservability once, in main, before channels and servers are made. After a call
// of the function that it returns, new channels and servers are no longer recorded.
func EnableObservability(ctx context.Context, options opentelemetry.Options) func() {
	m := &options.MetricsOptions
	c := plugin.Config{
		Meters:         m.MeterProvider,
		Metrics:        m.Metrics,
		Methods:        m.MethodAttributeFilter,
		Latencies:      opentelemetry.DefaultLatencyBounds,
		Sizes:          opentelemetry.DefaultSizeBounds,
		OptionalLabels: append([]string{"csm.service_name", "csm.service_namespace_name"}, m.OptionalLabels...),
		Tracers:        options.TraceOptions.TracerProvider,
		Propagator:     options.TraceOptions.TextMapPropagator,
		Version:        grpc.Version,
		Exchange:       newExchange(findWorkload(ctx)),
	}
	if c.Metrics == nil {
		c.Metrics = opentelemetry.DefaultMetrics()
	}
	return telemetry.AddGlobal(plugin.NewClient(c), plugin.NewServer(c))
}
