// SPDX-License-Identifier: Apache-2.0

// Package csm adds the labels of Google's Cloud Service Mesh to the metrics of package
// stats/opentelemetry: clients and servers tell each other who they are in the metadata
// x-envoy-peer-metadata, and what one end measures has the labels of both.
package csm

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/stats/opentelemetry/internal/plugin"
)

// EnableObservability has the RPCs of every channel and server that is made from now on
// recorded as options say, as if with opentelemetry.DialOption and ServerOption. The RPCs of
// servers, and of channels whose target has the scheme xds and either no authority or
// traffic-director-global.xds.googleapis.com, take part in the exchange of metadata; their
// metrics have, when they end, the labels csm.mesh_id, csm.workload_canonical_service,
// csm.remote_workload_type, csm.remote_workload_canonical_service, and others that depend on
// where the other end runs. Those of attempts have csm.service_name and
// csm.service_namespace_name where a control plane names the service.
//
// Who this end is comes from the environment, CSM_WORKLOAD_NAME, CSM_CANONICAL_SERVICE_NAME
// and CSM_MESH_ID, and from Google Cloud's metadata server, to which ctx is for. What is not
// found out by the end of ctx is "unknown". So is what another end tells in a value above 256 bytes, and
// all of it where it tells more than 4 KiB.
//
// Call it in main, once, before channels and servers are made. The function that it returns
// undoes it, for those that are made afterwards.
func EnableObservability(ctx context.Context, options opentelemetry.Options) func() {
	m := &options.MetricsOptions
	c := plugin.Config{
		Meters:         m.MeterProvider,
		Metrics:        m.Metrics,
		Methods:        m.MethodAttributeFilter,
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
