// SPDX-License-Identifier: Apache-2.0

package opentelemetry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
)

// tracing is a real SDK that keeps spans in memory.
type tracing struct {
	t        testing.TB
	kept     *tracetest.InMemoryExporter
	provider *sdktrace.TracerProvider
}

func newTracing(t testing.TB) *tracing {
	kept := tracetest.NewInMemoryExporter()
	return &tracing{t, kept, sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))}
}

func (tr *tracing) options(p propagation.TextMapPropagator) opentelemetry.Options {
	return opentelemetry.Options{TraceOptions: experimental.TraceOptions{TracerProvider: tr.provider, TextMapPropagator: p}}
}

func (tr *tracing) pair(e *echo, p propagation.TextMapPropagator, client ...grpc.DialOption) *pair {
	o := tr.options(p)
	return newPair(tr.t, e, []grpc.ServerOption{opentelemetry.ServerOption(o)}, append(client, opentelemetry.DialOption(o))...)
}

// want compares the spans, each a line: "parent > name kind status attributes [events]".
func (tr *tracing) want(lines ...string) {
	tr.t.Helper()
	spans := tr.kept.GetSpans()
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	var got []string
	for _, s := range spans {
		var events []string
		for _, e := range s.Events {
			if e.Name == "Delayed LB pick complete" {
				continue // that depends on timing
			}
			l := e.Name
			for _, kv := range e.Attributes {
				l += " " + kv.Value.String()
			}
			events = append(events, l)
		}
		l := fmt.Sprintf("%s > %s %v %v", names[s.Parent.SpanID()], s.Name, s.SpanKind, s.Status.Code)
		if s.Status.Description != "" {
			l += " " + s.Status.Description
		}
		for _, kv := range s.Attributes {
			l += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
		}
		got = append(got, l+" ["+strings.Join(events, ", ")+"]")
	}
	slices.Sort(got)
	slices.Sort(lines)
	if !slices.Equal(got, lines) {
		tr.t.Errorf("traced:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

const first = " previous-rpc-attempts=0 transparent-retry=false "

func TestTraces(t *testing.T) {
	tr := newTracing(t)
	p := tr.pair(&echo{}, propagation.TraceContext{})
	ctx, root := tr.provider.Tracer("test").Start(p.ctx, "root")
	p.ctx = ctx
	p.mustCall("hello")
	if err := p.call("not found"); status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	if err := p.talk("a", ""); err != nil {
		t.Fatal(err)
	}
	root.End()
	p.end()
	tr.want(
		" > root internal Unset []",
		"root > Sent.test.Echo.Unary client Ok []",
		"Sent.test.Echo.Unary > Attempt.test.Echo.Unary internal Ok"+first+"[Outbound message 0 7, Inbound message 0 7]",
		"Attempt.test.Echo.Unary > Recv.test.Echo.Unary server Ok [Inbound message 0 7, Outbound message 0 7]",
		"root > Sent.test.Echo.Unary client Error it is not there []",
		"Sent.test.Echo.Unary > Attempt.test.Echo.Unary internal Error it is not there"+first+"[Outbound message 0 11]",
		"Attempt.test.Echo.Unary > Recv.test.Echo.Unary server Error it is not there [Inbound message 0 11]",
		"root > Sent.test.Echo.Bidi client Ok []",
		"Sent.test.Echo.Bidi > Attempt.test.Echo.Bidi internal Ok"+first+
			"[Outbound message 0 3, Inbound message 0 3, Outbound message 1 0, Inbound message 1 0]",
		"Attempt.test.Echo.Bidi > Recv.test.Echo.Bidi server Ok "+
			"[Inbound message 0 3, Outbound message 0 3, Inbound message 1 0, Outbound message 1 0]",
	)
}

func TestTraceOfCompressedMessages(t *testing.T) {
	tr := newTracing(t)
	p := tr.pair(&echo{}, propagation.TraceContext{})
	p.mustCall(strings.Repeat("x", 10_000), grpc.UseCompressor(gzip.Name))
	p.end()
	for _, s := range tr.kept.GetSpans() {
		for _, e := range s.Events {
			if strings.HasSuffix(e.Name, "message") && (len(e.Attributes) != 3 || e.Attributes[1].Value.AsInt64() != 10_003 ||
				e.Attributes[2].Key != "message-size-compressed" || e.Attributes[2].Value.AsInt64() > 1000) {
				t.Errorf("%s: %v", e.Name, e.Attributes)
			}
		}
	}
}

func TestTraceOfRetries(t *testing.T) {
	tr := newTracing(t)
	p := newPair(t, flaky(1), nil, opentelemetry.DialOption(tr.options(propagation.TraceContext{})), grpc.WithDefaultServiceConfig(flakyConfig))
	p.mustCall("x")
	tr.want(
		" > Sent.test.Echo.Unary client Ok []",
		"Sent.test.Echo.Unary > Attempt.test.Echo.Unary internal Error try again"+first+"[Outbound message 0 3]",
		"Sent.test.Echo.Unary > Attempt.test.Echo.Unary internal Ok previous-rpc-attempts=1 transparent-retry=false [Outbound message 0 3, Inbound message 0 3]",
	)
}

// started is a span processor that tells of each span that begins.
type started struct {
	sdktrace.SpanProcessor
	names chan string
}

func (s started) OnStart(_ context.Context, span sdktrace.ReadWriteSpan) { s.names <- span.Name() }
func (started) OnEnd(sdktrace.ReadOnlySpan)                              {}
func (started) Shutdown(context.Context) error                           { return nil }
func (started) ForceFlush(context.Context) error                         { return nil }

// TestTraceOfDelays has a resolver that answers only after the RPC has begun.
func TestTraceOfDelays(t *testing.T) {
	tr := newTracing(t)
	names := make(chan string, 10)
	tr.provider.RegisterSpanProcessor(started{names: names})
	p := newPair(t, &echo{}, nil)
	_ = p.cc.Close()
	slow := manual.NewBuilderWithScheme("slow")
	cc, err := grpc.NewClient("slow:///x", opentelemetry.DialOption(tr.options(propagation.TraceContext{})),
		grpc.WithResolvers(slow), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	p.cc = cc
	done := make(chan error, 1)
	go func() { done <- p.call("x") }()
	if name := <-names; name != "Sent.test.Echo.Unary" {
		t.Fatal(name)
	}
	// Nobody can tell when the RPC waits, so the answer may be there first: it is then told
	// nothing of a delay.
	cc.Connect()
	slow.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: p.addr}}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, s := range tr.kept.GetSpans() {
		for _, e := range s.Events {
			switch {
			case e.Name == "Delayed name resolution complete" && s.Name == "Sent.test.Echo.Unary":
			case strings.HasSuffix(e.Name, "message") && s.Name == "Attempt.test.Echo.Unary":
			case e.Name == "Delayed LB pick complete" && s.Name == "Attempt.test.Echo.Unary":
			default:
				t.Errorf("%s has the event %s", s.Name, e.Name)
			}
		}
	}
}

// TestPropagation has servers find the span by whatever carries it, and once.
func TestPropagation(t *testing.T) {
	both := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, opentelemetry.GRPCTraceBinPropagator{}, propagation.Baggage{})
	for _, tt := range []struct {
		what string
		p    propagation.TextMapPropagator
		want []string
	}{
		{"W3C", propagation.TraceContext{}, []string{"traceparent"}},
		{"binary", opentelemetry.GRPCTraceBinPropagator{}, []string{"grpc-trace-bin"}},
		{"both", both, []string{"traceparent", "grpc-trace-bin"}},
	} {
		tr := newTracing(t)
		var got metadata.MD
		e := &echo{unary: func(ctx context.Context, _ string) error {
			got, _ = metadata.FromIncomingContext(ctx)
			if !trace.SpanContextFromContext(ctx).IsValid() {
				t.Errorf("%s: no span in the handler's context", tt.what)
			}
			return nil
		}}
		p := tr.pair(e, tt.p)
		// What the program sends on by itself makes way.
		p.ctx = metadata.AppendToOutgoingContext(p.ctx, "traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "own", "1")
		p.mustCall("x")
		p.end()
		for _, key := range append(tt.want, "own") {
			if n := len(got[key]); n != 1 {
				t.Errorf("%s: %d values of %s", tt.what, n, key)
			}
		}
		tr.want(
			" > Sent.test.Echo.Unary client Ok []",
			"Sent.test.Echo.Unary > Attempt.test.Echo.Unary internal Ok"+first+"[Outbound message 0 3, Inbound message 0 3]",
			"Attempt.test.Echo.Unary > Recv.test.Echo.Unary server Ok [Inbound message 0 3, Outbound message 0 3]",
		)
	}
}

func TestNoTracesWithoutPropagator(t *testing.T) {
	tr := newTracing(t)
	p := tr.pair(&echo{}, nil)
	p.mustCall("x")
	p.end()
	tr.want()
}

func TestTraceBinPropagator(t *testing.T) {
	var p opentelemetry.GRPCTraceBinPropagator
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3, 15: 4}, SpanID: trace.SpanID{5, 7: 6}, TraceFlags: trace.FlagsSampled,
	})
	carrier := propagation.MapCarrier{}
	p.Inject(trace.ContextWithSpanContext(t.Context(), sc), carrier)
	want := "\x00" + "\x00\x01\x02\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04" + "\x01\x05\x00\x00\x00\x00\x00\x00\x06" + "\x02\x01"
	if got := carrier["grpc-trace-bin"]; got != want {
		t.Errorf("injected %q", got)
	}
	got := trace.SpanContextFromContext(p.Extract(t.Context(), carrier))
	if !got.IsRemote() || !got.Equal(sc.WithRemote(true)) {
		t.Errorf("extracted %v", got)
	}
	empty := propagation.MapCarrier{}
	p.Inject(t.Context(), empty)
	if len(empty) != 0 {
		t.Errorf("injected %v without a span", empty)
	}
	for _, bad := range []string{"", "x", want[:28], want + "x", "\x01" + want[1:], "\x00\x03" + want[2:], strings.Replace(want, "\x01\x05", "\x02\x05", 1), strings.Repeat("\x00", 29)} {
		if ctx := p.Extract(t.Context(), propagation.MapCarrier{"grpc-trace-bin": bad}); ctx != t.Context() {
			t.Errorf("extracted from %q", bad)
		}
	}
	if !slices.Equal(p.Fields(), []string{"grpc-trace-bin"}) {
		t.Error(p.Fields())
	}
}
