// SPDX-License-Identifier: Apache-2.0

// Package opentelemetry measures and traces the RPCs of channels and servers with
// OpenTelemetry. A channel made with DialOption, or a server with ServerOption, records
//
//   - metrics of RPCs and their attempts (gRFC A66), metrics of retries (gRFC A96), which
//     are off by default, and metrics of balancers, connections and the like (gRFC A79).
//     [MetricsOptions] say which are recorded, and have the MeterProvider to record them
//     with.
//   - traces (gRFC A72): a client's RPC has a span, with a child span for each attempt. A
//     server's RPC has a span too. Messages are events of the spans. The TracerProvider is
//     in the TraceOptions.
//
// Without these providers nothing is recorded: the global providers of OpenTelemetry are
// not used. A channel or server may have several of these options; each records on its own.
//
// An RPC of which only metrics are recorded costs one allocation on each side. The set of
// labels for each method and status that occurs is kept, up to a bound.
package opentelemetry

import (
	"google.golang.org/grpc"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/stats/opentelemetry/internal/plugin"

	"go.opentelemetry.io/otel/metric"
)

// Options say what is recorded. The zero value records nothing.
type Options struct {
	// MetricsOptions are about metrics.
	MetricsOptions MetricsOptions
	// TraceOptions are about traces.
	TraceOptions experimental.TraceOptions
}

// MetricsOptions say which metrics are recorded, with which labels.
type MetricsOptions struct {
	// MeterProvider makes the instruments. Nothing is measured if it is nil.
	MeterProvider metric.MeterProvider

	// Metrics are the names of the metrics to record. Nil means DefaultMetrics. Unknown
	// names are ignored.
	Metrics *stats.MetricSet

	// MethodAttributeFilter reports whether the name of a server's method,
	// "/package.Service/Method", may be the value of the label grpc.method, and part of the
	// span's name. If it returns false, they have "other". A nil filter accepts all methods.
	// Methods that are not registered with the server are always "other", because clients
	// can make up any number of names.
	//
	// A client's methods are "other" in the label unless the call has the option
	// grpc.StaticMethod, which generated code passes.
	MethodAttributeFilter func(string) bool

	// OptionalLabels are the names of labels to record that are off by default. Each applies
	// to all metrics that have it. They are grpc.lb.locality and grpc.lb.backend_service of
	// attempts, grpc.client.call.custom, which a function of package experimental/stats sets,
	// and the optional labels of the metrics of balancers and connections.
	OptionalLabels []string

	// A later release may add fields, so composite literals must name their fields.
	_ struct{}
}

// DialOption returns an option that records the RPCs of a channel. It sees an RPC where an
// interceptor would that is chained at the same place in the list of options.
func DialOption(o Options) grpc.DialOption {
	return &dialOption{client: plugin.NewClient(o.config())}
}

type dialOption struct {
	grpc.EmptyDialOption
	client *plugin.Client
}

// ChannelTelemetry returns the plugin. Package grpc calls it.
func (o *dialOption) ChannelTelemetry() telemetry.Client { return o.client }

// ServerOption returns an option that records the RPCs of a server, from their arrival until
// their status is sent, including interceptors.
func ServerOption(o Options) grpc.ServerOption {
	return &serverOption{server: plugin.NewServer(o.config())}
}

type serverOption struct {
	grpc.EmptyServerOption
	server *plugin.Server
}

// ServerTelemetry returns the plugin. Package grpc calls it.
func (o *serverOption) ServerTelemetry() telemetry.Server { return o.server }

func (o *Options) config() plugin.Config {
	m := &o.MetricsOptions
	c := plugin.Config{
		Meters:         m.MeterProvider,
		Metrics:        m.Metrics,
		Methods:        m.MethodAttributeFilter,
		Latencies:      DefaultLatencyBounds,
		Sizes:          DefaultSizeBounds,
		OptionalLabels: m.OptionalLabels,
		Tracers:        o.TraceOptions.TracerProvider,
		Propagator:     o.TraceOptions.TextMapPropagator,
		Version:        grpc.Version,
	}
	if c.Metrics == nil {
		c.Metrics = DefaultMetrics()
	}
	return c
}

// DefaultMetrics returns the names of the metrics that are recorded if the program names none:
// those of the constants in this package, and those that other packages have registered with
// experimental/stats as on by default. Call it after the program's init functions have run.
func DefaultMetrics() *stats.MetricSet {
	return stats.NewMetricSet(
		ClientAttemptStartedMetricName,
		ClientAttemptDurationMetricName,
		ClientAttemptSentCompressedTotalMessageSizeMetricName,
		ClientAttemptRcvdCompressedTotalMessageSizeMetricName,
		ClientCallDurationMetricName,
		ServerCallStartedMetricName,
		ServerCallSentCompressedTotalMessageSizeMetricName,
		ServerCallRcvdCompressedTotalMessageSizeMetricName,
		ServerCallDurationMetricName,
	).Join(estats.DefaultMetrics)
}
