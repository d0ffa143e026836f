// SPDX-License-Identifier: Apache-2.0

// Package plugin measures and traces RPCs with OpenTelemetry: the plugins of channels and
// servers behind stats/opentelemetry and its package csm.
//
// What a measurement carries are attributes. To sort and hash them anew for each would
// cost more than the rest, so those of a method are kept, ready made, by status (points).
package plugin

import (
	"slices"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// Config says what a plugin does. It is not changed afterwards.
type Config struct {
	// Meters makes the instruments; nil: nothing is measured.
	Meters metric.MeterProvider
	// Metrics are those that are recorded, by their names.
	Metrics *stats.MetricSet
	// Methods says of a server's method, "/package.Service/Method", whether its name may
	// be a label; nil: it may.
	Methods func(string) bool
	// OptionalLabels are the names of labels that are off unless they are here.
	OptionalLabels []string

	// Tracers makes the spans, and Propagator carries their identities; one of them nil:
	// nothing is traced.
	Tracers    trace.TracerProvider
	Propagator propagation.TextMapPropagator

	// Version is the release of this module.
	Version string
	// Exchange adds labels of the two ends; nil: there are none.
	Exchange Exchange
}

// Exchange has clients and servers tell each other who they are, by metadata, for labels.
type Exchange interface {
	// Metadata is what this end tells; keys and values. It does not change.
	Metadata() []string
	// Wants says whether the RPCs of a channel take part, by its target.
	Wants(target string) bool
	// Key finds in the metadata that came what the other end tells, "" for nothing.
	Key(md metadata.MD) string
	// Labels are those of this end and the other, whose Key is known.
	Labels(key string) []Label
}

// Label is one more attribute of a measurement.
type Label struct{ Name, Value string }

// scope is the name of the meter and of the tracer.
const scope = "grpc-go"

// The names of labels.
const (
	labelMethod  = "grpc.method"
	labelTarget  = "grpc.target"
	labelStatus  = "grpc.status"
	labelCustom  = "grpc.client.call.custom" // gRFC A108
	labelPlace   = "grpc.lb.locality"        // gRFC A78
	labelBackend = "grpc.lb.backend_service" // gRFC A89

	labelService   = "csm.service_name"
	labelNamespace = "csm.service_namespace_name"
)

// other stands for the name of a method that is not to be a label: there is no end of
// names that a client can make up.
const other = "other"

// optional is which of the labels of RPCs are on that are off by default.
type optional struct {
	custom, place, backend bool
	mesh                   meshLabels
}

// receivesLabels reports whether any label is on that balancers tell of an attempt.
func (o optional) receivesLabels() bool { return o.place || o.backend || o.mesh != meshLabels{} }

// meshLabels is which of the labels of a service mesh (CSM) are on.
type meshLabels struct{ service, namespace bool }

func (c *Config) optional() optional {
	return optional{
		custom:  slices.Contains(c.OptionalLabels, labelCustom),
		place:   slices.Contains(c.OptionalLabels, labelPlace),
		backend: slices.Contains(c.OptionalLabels, labelBackend),
		mesh: meshLabels{
			service:   slices.Contains(c.OptionalLabels, labelService),
			namespace: slices.Contains(c.OptionalLabels, labelNamespace),
		},
	}
}

func (c *Config) tracer() trace.Tracer {
	if c.Tracers == nil || c.Propagator == nil {
		return nil
	}
	return c.Tracers.Tracer(scope, trace.WithInstrumentationVersion(c.Version))
}

func (c *Config) meter() metric.Meter {
	if c.Meters == nil {
		return nil
	}
	return c.Meters.Meter(scope, metric.WithInstrumentationVersion(c.Version))
}

// bare is the name of a method as labels have it, without the slash in front.
func bare(method string) string {
	if len(method) > 0 && method[0] == '/' {
		return method[1:]
	}
	return method
}
