// SPDX-License-Identifier: Apache-2.0

// Package plugin measures and traces RPCs with OpenTelemetry. It has the plugins of channels
// and servers that the packages stats/opentelemetry and stats/opentelemetry/csm use.
//
// Each measurement has a set of attributes. Sorting and hashing them for each measurement
// would cost more than all the rest, so points keeps the sets of a method, by status.
package plugin

import (
	"slices"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// Config says what a plugin does. It must not change once a plugin has been made with it.
type Config struct {
	// Meters makes the instruments. If it is nil, nothing is measured.
	Meters metric.MeterProvider
	// Metrics are the names of the metrics to record.
	Metrics *stats.MetricSet
	// Methods reports whether the name of a server's method, "/package.Service/Method", may
	// be the value of a label. If Methods is nil, all names may.
	Methods func(string) bool
	// Latencies and Sizes are the bucket boundaries of the histograms of RPCs, in seconds and in bytes.
	Latencies, Sizes []float64
	// OptionalLabels are the names of those labels to record that are off by default.
	OptionalLabels []string

	// Tracers makes the spans, and Propagator carries their identities. If either is nil,
	// nothing is traced.
	Tracers    trace.TracerProvider
	Propagator propagation.TextMapPropagator

	// Version is the release of this module.
	Version string
	// Exchange adds labels of the two ends. If it is nil, there are none.
	Exchange Exchange
}

// Exchange lets clients and servers identify themselves to each other by metadata, and makes
// labels of that.
type Exchange interface {
	// Metadata returns the keys and values that this end sends. They do not change.
	Metadata() []string
	// Wants reports whether the RPCs of the channel with this target take part.
	Wants(target string) bool
	// Key returns what the other end has sent about itself, from the metadata that was
	// received. It returns "" if there is nothing.
	Key(md metadata.MD) string
	// Labels returns the labels of both ends. key is the other end's Key.
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

// other replaces the name of a method that must not be the value of a label: clients can make
// up any number of names.
const other = "other"

// optional says which of the labels that are off by default are on.
type optional struct {
	custom, place, backend bool
	mesh                   meshLabels
}

// receivesLabels reports whether any label is on that balancers tell of an attempt.
func (o optional) receivesLabels() bool { return o.place || o.backend || o.mesh != meshLabels{} }

// meshLabels says which of the labels of a service mesh (CSM) are on.
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

// bare returns the name of a method as labels have it, without the leading slash.
func bare(method string) string {
	if len(method) > 0 && method[0] == '/' {
		return method[1:]
	}
	return method
}
