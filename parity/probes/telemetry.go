// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
)

// meters keep the metrics of a client or a server.
type meters struct{ reader *sdkmetric.ManualReader }

func newMeters() meters { return meters{sdkmetric.NewManualReader()} }

func (m meters) options(change func(*opentelemetry.MetricsOptions)) opentelemetry.Options {
	o := opentelemetry.MetricsOptions{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(m.reader))}
	if change != nil {
		change(&o)
	}
	return opentelemetry.Options{MetricsOptions: o}
}

// read are the lines of all metrics; times are left out.
func (m meters) read() []string {
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &all); err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			out = append(out, fmt.Sprintf("%s unit=%s", m.Name, m.Unit))
			out = append(out, points(m)...)
		}
	}
	slices.Sort(out)
	return out
}

func points(m metricdata.Metrics) (out []string) {
	add := func(set attribute.Set, value string) {
		var labels []string
		for _, kv := range set.ToSlice() {
			v := kv.Value.String()
			if kv.Key == "grpc.target" {
				v = "TARGET"
			}
			labels = append(labels, string(kv.Key)+"="+v)
		}
		out = append(out, fmt.Sprintf("%s {%s} %s", m.Name, strings.Join(labels, " "), value))
	}
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Value, " monotonic=", d.IsMonotonic))
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Count, " of ", p.Sum, " bounds=", len(p.Bounds)))
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			add(p.Attributes, fmt.Sprint(p.Count, " bounds=", len(p.Bounds)))
		}
	default:
		out = append(out, fmt.Sprintf("%s %T", m.Name, d))
	}
	return out
}

// observed are RPCs that are measured and traced.
var observed = []struct {
	name     string
	handlers rig.Handlers
	dial     []grpc.DialOption
	run      func(p *probe.P, s *rig.Started)
}{
	{"a call", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) { p.Printf("%s", call(p.Context(), s)) }},
	{"a call that fails", rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) {
		return nil, status.Error(codes.NotFound, "none")
	}}, nil, func(p *probe.P, s *rig.Started) { p.Printf("%s", call(p.Context(), s)) }},
	{"a call that fails without a status", rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) {
		return nil, context.Canceled
	}}, nil, func(p *probe.P, s *rig.Started) { p.Printf("%s", call(p.Context(), s)) }},
	{"an unknown method", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(s.Invoke(p.Context(), "/probe.Probe/Other", rig.M("q"), new(rig.Msg))))
	}},
	{"an unknown service", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(s.Invoke(p.Context(), "/other.Service/Unary", rig.M("q"), new(rig.Msg))))
	}},
	{"a static method", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", call(p.Context(), s, grpc.StaticMethod()))
	}},
	{"a static method that is unknown", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(s.Invoke(p.Context(), "/probe.Probe/Other", rig.M("q"), new(rig.Msg), grpc.StaticMethod())))
	}},
	{"a call with gzip", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		out := new(rig.Msg)
		err := s.Invoke(p.Context(), rig.Unary, rig.M(strings.Repeat("a", 1000)), out, grpc.UseCompressor(gzip.Name))
		p.Printf("%d %s", len(out.GetValue()), rig.Err(err))
	}},
	{"a canceled call", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		s.Ready(p)
		ctx, cancel := context.WithCancel(p.Context())
		cancel()
		p.Printf("%s", call(ctx, s))
	}},
	{"a call after Close", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		_ = s.ClientConn.Close()
		p.Printf("%s", call(p.Context(), s))
	}},
	{"a stream", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		stream := bidi(p, s)
		for range 3 {
			p.Printf("%s", rig.Err(stream.SendMsg(rig.M("q"))))
			p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		}
		_ = stream.CloseSend()
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}},
	{"a stream without messages", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		stream := bidi(p, s)
		_ = stream.CloseSend()
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}},
	{"a stream that fails", rig.Handlers{Stream: func(grpc.ServerStream) error { return status.Error(codes.Aborted, "no") }}, nil, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(bidi(p, s).RecvMsg(new(rig.Msg))))
	}},
	{"retries", rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
		if len(metadata.ValueFromIncomingContext(ctx, "grpc-previous-rpc-attempts")) == 0 {
			return nil, status.Error(codes.Unavailable, "again")
		}
		return m, nil
	}}, []grpc.DialOption{grpc.WithDefaultServiceConfig(`{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`)}, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", call(p.Context(), s))
	}},
	{"a message that is too large", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", call(p.Context(), s, grpc.MaxCallRecvMsgSize(1)))
	}},
	{"two calls, two methods", rig.Handlers{}, nil, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", call(p.Context(), s, grpc.StaticMethod()))
		p.Printf("%s", call(p.Context(), s, grpc.StaticMethod()))
		stream := bidi(p, s)
		_ = stream.CloseSend()
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}},
}

var metricChanges = map[string]func(*opentelemetry.MetricsOptions){
	"default":    nil,
	"no metrics": func(o *opentelemetry.MetricsOptions) { o.Metrics = stats.NewMetricSet() },
	"one metric": func(o *opentelemetry.MetricsOptions) {
		o.Metrics = stats.NewMetricSet("grpc.client.attempt.started", "grpc.server.call.started")
	},
	"unknown metric": func(o *opentelemetry.MetricsOptions) { o.Metrics = stats.NewMetricSet("nope") },
	"one fewer": func(o *opentelemetry.MetricsOptions) {
		o.Metrics = opentelemetry.DefaultMetrics().Remove("grpc.client.call.duration")
	},
	"labels": func(o *opentelemetry.MetricsOptions) {
		o.OptionalLabels = []string{"grpc.lb.locality", "grpc.lb.backend_service", "nope"}
	},
	"no methods":  func(o *opentelemetry.MetricsOptions) { o.MethodAttributeFilter = func(string) bool { return false } },
	"all methods": func(o *opentelemetry.MetricsOptions) { o.MethodAttributeFilter = func(string) bool { return true } },
	"no provider": func(o *opentelemetry.MetricsOptions) { o.MeterProvider = nil },
	"retry metrics": func(o *opentelemetry.MetricsOptions) {
		o.Metrics = opentelemetry.DefaultMetrics().Add("grpc.client.call.retries", "grpc.client.call.transparent_retries", "grpc.client.call.retry_delay")
	},
}

// spanLines are the spans, each with its parent, without times and identities.
func spanLines(kept *tracetest.InMemoryExporter) []string {
	spans := kept.GetSpans()
	names := make(map[string]string)
	for _, s := range spans {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	var out []string
	for _, s := range spans {
		line := fmt.Sprintf("%s > %s %v %v %q", cmp.Or(names[s.Parent.SpanID().String()], "root"), s.Name, s.SpanKind, s.Status.Code, s.Status.Description)
		for _, kv := range s.Attributes {
			line += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
		}
		for _, e := range s.Events {
			if e.Name == "Delayed LB pick complete" {
				continue // it depends on who is faster
			}
			line += " [" + e.Name
			for _, kv := range e.Attributes {
				line += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
			}
			line += "]"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// telemetryProbes record what a program's OpenTelemetry is told.
func telemetryProbes() []probe.Probe {
	var out []probe.Probe
	for _, w := range observed {
		out = append(out, probe.Probe{Name: "telemetry/metrics/" + w.name, Run: func(p *probe.P) { measured(p, w.handlers, w.dial, nil, w.run) }})
		for name, propagator := range map[string]propagation.TextMapPropagator{"grpc-trace-bin": opentelemetry.GRPCTraceBinPropagator{}, "w3c": propagation.TraceContext{}, "none": nil} {
			out = append(out, probe.Probe{Name: "telemetry/traces/" + name + "/" + w.name, Run: func(p *probe.P) {
				kept := tracetest.NewInMemoryExporter()
				o := opentelemetry.Options{TraceOptions: experimental.TraceOptions{
					TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)), TextMapPropagator: propagator,
				}}
				s := rig.Pair{Handlers: w.handlers, Server: []grpc.ServerOption{opentelemetry.ServerOption(o)}, Dial: append([]grpc.DialOption{opentelemetry.DialOption(o)}, w.dial...)}.Start(p)
				w.run(p, s)
				probe.Settle(0) // the server has ended then, too
				_ = s.ClientConn.Close()
				s.Server.GracefulStop()
				for _, l := range spanLines(kept) {
					p.Printf("%s", l)
				}
			}})
		}
	}
	for name, change := range metricChanges {
		out = append(out, probe.Probe{Name: "telemetry/options/" + name, Run: func(p *probe.P) {
			measured(p, rig.Handlers{}, nil, change, func(p *probe.P, s *rig.Started) {
				p.Printf("%s", call(p.Context(), s))
				p.Printf("%s", call(p.Context(), s, grpc.StaticMethod()))
			})
		}})
	}
	return append(out, telemetryOptions...)
}

// telemetryOptions are options that work together, and defaults that a program replaces.
var telemetryOptions = []probe.Probe{
	{Name: "telemetry/together/no methods, and traces", Run: func(p *probe.P) {
		kept := tracetest.NewInMemoryExporter()
		o := newMeters().options(func(o *opentelemetry.MetricsOptions) { o.MethodAttributeFilter = func(string) bool { return false } })
		o.TraceOptions = experimental.TraceOptions{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)), TextMapPropagator: propagation.TraceContext{}}
		s := rig.Pair{Server: []grpc.ServerOption{opentelemetry.ServerOption(o)}, Dial: []grpc.DialOption{opentelemetry.DialOption(o)}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		probe.Settle(0)
		_ = s.ClientConn.Close()
		s.Server.GracefulStop()
		for _, l := range spanLines(kept) {
			p.Printf("%s", l)
		}
	}},
	{Name: "telemetry/defaults/other bounds", Alone: true, Run: func(p *probe.P) {
		latencies, sizes := opentelemetry.DefaultLatencyBounds, opentelemetry.DefaultSizeBounds
		defer func() { opentelemetry.DefaultLatencyBounds, opentelemetry.DefaultSizeBounds = latencies, sizes }()
		opentelemetry.DefaultLatencyBounds, opentelemetry.DefaultSizeBounds = []float64{1, 2}, []float64{1, 2, 3}
		measured(p, rig.Handlers{}, nil, metricChanges["retry metrics"], func(p *probe.P, s *rig.Started) { p.Printf("%s", call(p.Context(), s)) })
	}},
}

// measured runs RPCs, and prints what was measured of them on both sides.
func measured(p *probe.P, h rig.Handlers, dial []grpc.DialOption, change func(*opentelemetry.MetricsOptions), run func(*probe.P, *rig.Started)) {
	client, server := newMeters(), newMeters()
	s := rig.Pair{
		Handlers: h, Server: []grpc.ServerOption{opentelemetry.ServerOption(server.options(change))},
		Dial: append([]grpc.DialOption{opentelemetry.DialOption(client.options(change))}, dial...),
	}.Start(p)
	run(p, s)
	probe.Settle(0) // the server has ended then, too
	_ = s.ClientConn.Close()
	s.Server.GracefulStop()
	for _, l := range append(client.read(), server.read()...) {
		p.Printf("%s", l)
	}
}
