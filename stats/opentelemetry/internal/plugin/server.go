// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Server is the plugin of servers.
type Server struct {
	config      Config
	instruments serverInstruments
	tracer      trace.Tracer // nil if nothing is traced
	recorder    *recorder    // nil if nothing is measured
	methods     cache[string, *points]
}

// NewServer returns a plugin for any number of servers.
func NewServer(c Config) *Server {
	p := &Server{config: c, tracer: c.tracer()}
	if meter := c.meter(); meter != nil {
		p.instruments = newServerInstruments(meter, &c)
		p.recorder = newRecorder(meter, &c)
	}
	return p
}

// Recorder implements telemetry.Server.
func (p *Server) Recorder() estats.MetricsRecorder {
	if p.recorder == nil {
		return nil
	}
	return p.recorder
}

// method returns the points of a method. name is the value of the label grpc.method.
func (p *Server) method(name string) *points {
	return p.methods.get(name, func(name string) *points {
		m := &points{
			common: []attribute.KeyValue{attribute.String(labelMethod, name)},
			labels: p.config.Exchange,
		}
		m.begun = newPoint(m.common...)
		return m
	})
}

// name returns the name that labels and spans have for a method: its own if it is registered
// and the filter accepts it, and otherwise other.
func (p *Server) name(info *telemetry.ServedInfo) string {
	if !info.Registered || p.config.Methods != nil && !p.config.Methods(info.Method) {
		return other
	}
	return bare(info.Method)
}

// BeginServed implements telemetry.Server.
func (p *Server) BeginServed(ctx context.Context, info telemetry.ServedInfo) (context.Context, telemetry.Served) {
	name := p.name(&info)
	s := &served{plugin: p, points: p.method(name), began: time.Now()}
	if p.tracer != nil {
		ctx = p.config.Propagator.Extract(ctx, incoming{ctx})
		ctx, s.span = p.tracer.Start(ctx, spanName("Recv", name), trace.WithSpanKind(trace.SpanKindServer))
	}
	s.ctx = ctx
	if x := p.config.Exchange; x != nil {
		md, _ := metadata.FromIncomingContext(ctx)
		s.otherEnd = x.Key(md)
	}
	if p.instruments.started != nil {
		p.instruments.started.Add(ctx, 1, s.points.find(pointKey{kind: ofBegin}).add...)
	}
	return ctx, s
}

// served is a server's RPC.
type served struct {
	plugin   *Server
	points   *points
	began    time.Time
	ctx      context.Context
	otherEnd string
	traffic
}

// Metadata implements telemetry.Served.
func (s *served) Metadata() []string {
	if x := s.plugin.config.Exchange; x != nil {
		return x.Metadata()
	}
	return nil
}

// End implements telemetry.Served.
func (s *served) End(err error) {
	i := &s.plugin.instruments
	at := s.points.find(pointKey{kind: ofEnd, status: status.Code(err), otherEnd: s.otherEnd}).record
	if i.duration != nil {
		i.duration.Record(s.ctx, time.Since(s.began).Seconds(), at...)
	}
	if i.sent != nil {
		i.sent.Record(s.ctx, s.sent.bytes.Load(), at...)
	}
	if i.received != nil {
		i.received.Record(s.ctx, s.received.bytes.Load(), at...)
	}
	if s.span != nil {
		endSpan(s.span, err)
	}
}
