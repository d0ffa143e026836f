// SPDX-License-Identifier: Apache-2.0

// Package opentelemetry measures and traces the RPCs of channels and servers with
// OpenTelemetry. A channel made with DialOption, or a server with ServerOption, records
//
//   - metrics of RPCs and their attempts (gRFC A66; of retries, off by default: A96), and
//     those of balancers, connections and the like (gRFC A79) that the program names in
//     [MetricsOptions], in the instruments of the MeterProvider it gives;
//   - traces (gRFC A72): a span for each RPC of a client, in it one for each attempt, and
//     one for each RPC of a server, with the messages as events, from the TracerProvider
//     it gives.
//
// Neither falls back to the providers that OpenTelemetry holds for the process. Several
// of these options may be given; each records on its own.
//
// An RPC of which only metrics are recorded costs one allocation on each side. Labels are
// kept for each method and status that occurs, up to a bound.
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

	// Metrics are those that are recorded, by their names; nil stands for those of
	// DefaultMetrics. Names that nobody knows are ignored.
	Metrics *stats.MetricSet

	// MethodAttributeFilter says of a method of a server, "/package.Service/Method",
	// whether its name may be the value of the label grpc.method, and of the span; "other"
	// is there if it returns false. nil lets all methods pass. Those that are not registered
	// with the server are "other" in any case: clients can make up any number of names.
	//
	// A client's methods are "other" unless the call has the option grpc.StaticMethod,
	// which generated code gives.
	MethodAttributeFilter func(string) bool

	// OptionalLabels are the names of labels that are off by default and are to be on,
	// for all metrics that have them: grpc.lb.locality and grpc.lb.backend_service of
	// attempts, grpc.client.call.custom (package experimental/stats has the function to set
	// it), and those that the metrics of balancers and connections come with.
	OptionalLabels []string

	// A later release may have more here, and a struct of these must be written with names.
	_ struct{}
}

// DialOption returns an option that has the RPCs of a channel recorded. It sees them where
// an interceptor would that is chained at the option's place.
func DialOption(o Options) grpc.DialOption {
	return &dialOption{client: plugin.NewClient(o.config())}
}

type dialOption struct {
	grpc.EmptyDialOption
	client *plugin.Client
}

// ChannelTelemetry is where package grpc finds the plugin.
func (o *dialOption) ChannelTelemetry() telemetry.Client { return o.client }

// ServerOption returns an option that has the RPCs of a server recorded, from their arrival
// until their status is sent, interceptors included.
func ServerOption(o Options) grpc.ServerOption {
	return &serverOption{server: plugin.NewServer(o.config())}
}

type serverOption struct {
	grpc.EmptyServerOption
	server *plugin.Server
}

// ServerTelemetry is where package grpc finds the plugin.
func (o *serverOption) ServerTelemetry() telemetry.Server { return o.server }

func (o *Options) config() plugin.Config {
	m := &o.MetricsOptions
	c := plugin.Config{
		Meters:         m.MeterProvider,
		Metrics:        m.Metrics,
		Methods:        m.MethodAttributeFilter,
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

// DefaultMetrics returns the names of the metrics that are recorded if the program does not
// say: those below, and those that other packages have registered with experimental/stats as
// on by default. It is to be called after the program's init functions.
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
