// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/metadata"
)

// NewClient returns a plugin for any number of channels.
func NewClient(c Config) *Client {
	p := &Client{config: c, on: c.optional(), tracer: c.tracer()}
	if meter := c.meter(); meter != nil {
		p.instruments = newClientInstruments(meter, &c)
		p.recorder = newRecorder(meter, &c)
	}
	return p
}

// Channel implements telemetry.Client.
func (p *Client) Channel(target string) telemetry.Channel {
	c := &channel{Client: p, target: valid(target)}
	if x := p.config.Exchange; x != nil && x.Wants(target) {
		c.exchange = x
	}
	return c
}

// Recorder implements telemetry.Channel.
func (c *channel) Recorder() estats.MetricsRecorder {
	if c.recorder == nil {
		return nil
	}
	return c.recorder
}

// method returns the points of a method. name is the value of the label grpc.method.
func (c *channel) method(name string) *points {
	return c.methods.get(name, func(name string) *points {
		p := &points{
			common: []attribute.KeyValue{attribute.String(labelMethod, valid(name)), attribute.String(labelTarget, c.target)},
			labels: c.exchange,
			on:     c.on,
		}
		p.begun = newPoint(p.common...)
		return p
	})
}

// BeginCall implements telemetry.Channel.
func (c *channel) BeginCall(ctx context.Context, info telemetry.CallInfo) (context.Context, telemetry.Call) {
	name := other
	if info.Static {
		name = bare(info.Method)
	}
	call := &call{channel: c, points: c.method(name)}
	if c.on.custom {
		call.custom = valid(estats.CustomLabelFromContext(ctx))
	}
	if c.tracer != nil {
		ctx, call.span = c.tracer.Start(ctx, spanName("Sent", info.Method), trace.WithSpanKind(trace.SpanKindClient))
	}
	call.Context = ctx
	call.begin()
	return call, call
}

// BeginAttempt implements telemetry.Channel. If there is no call in the context, it neither
// measures nor traces the attempt: the channel makes the RPC for itself.
func (c *channel) BeginAttempt(ctx context.Context, info telemetry.AttemptInfo) (context.Context, telemetry.Attempt) {
	call, ok := ctx.Value(callKey{c}).(*call)
	if !ok {
		return ctx, nil
	}
	if c.exchange != nil {
		ctx = introduce(ctx, c.exchange.Metadata())
	}
	a := call.newAttempt(&info)
	if c.tracer != nil {
		ctx, a.span = c.startAttempt(ctx, &info)
		ctx = inject(ctx, c.config.Propagator)
		if info.Resolved {
			call.span.AddEvent("Delayed name resolution complete")
		}
	}
	a.Context = ctx
	a.begin()
	if c.on.receivesLabels() {
		return a, a
	}
	return ctx, a
}

// introduce returns a context whose outgoing metadata has kv, in place of what a proxy relays from its client under
// the same keys.
func introduce(ctx context.Context, kv []string) context.Context {
	for i := 0; i < len(kv); i += 2 {
		if len(metadata.ValueFromOutgoingContext(ctx, kv[i])) > 0 {
			md, _ := metadata.FromOutgoingContext(ctx)
			md.Delete(kv[i])
			ctx = metadata.NewOutgoingContext(ctx, md)
		}
	}
	return metadata.AppendToOutgoingContext(ctx, kv...)
}

func (c *channel) startAttempt(ctx context.Context, info *telemetry.AttemptInfo) (context.Context, trace.Span) {
	return c.tracer.Start(ctx, spanName("Attempt", info.Method), trace.WithAttributes(
		attribute.Int("previous-rpc-attempts", info.Previous),
		attribute.Bool("transparent-retry", info.Transparent),
	))
}

// inject returns a context whose outgoing metadata identifies the span of ctx.
func inject(ctx context.Context, p propagation.TextMapPropagator) context.Context {
	out := outgoing{ctx: ctx}
	p.Inject(ctx, &out)
	return out.context()
}
