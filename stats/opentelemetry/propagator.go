// SPDX-License-Identifier: Apache-2.0

package opentelemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// GRPCTraceBinPropagator carries the identity of a span in the metadata entry grpc-trace-bin,
// as OpenCensus does (gRFC A72), for programs that move from OpenCensus to OpenTelemetry. The
// value that it sets in a carrier is bytes, not text; the metadata of RPCs accepts that. It
// ignores values that it can't decode. It does not carry the trace state.
type GRPCTraceBinPropagator struct{}

var _ propagation.TextMapPropagator = GRPCTraceBinPropagator{}

const traceBinKey = "grpc-trace-bin"

// Inject implements propagation.TextMapPropagator.
func (GRPCTraceBinPropagator) Inject(ctx context.Context, carrier propagation.TextMapCarrier) {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		carrier.Set(traceBinKey, string(encodeTrace(sc)))
	}
}

// Extract implements propagation.TextMapPropagator.
func (GRPCTraceBinPropagator) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	sc, ok := decodeTrace(carrier.Get(traceBinKey))
	if !ok {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// Fields implements propagation.TextMapPropagator.
func (GRPCTraceBinPropagator) Fields() []string { return []string{traceBinKey} }

// The encoding is a version, followed by fields, each preceded by its number (OpenCensus'
// BinaryEncoding).
const (
	traceVersion = 0
	traceIDField = 0
	spanIDField  = 1
	flagsField   = 2

	traceIDAt   = 1
	spanIDAt    = traceIDAt + 1 + 16
	flagsAt     = spanIDAt + 1 + 8
	traceBinLen = flagsAt + 1 + 1
)

func encodeTrace(sc trace.SpanContext) []byte {
	traceID, spanID := sc.TraceID(), sc.SpanID()
	b := make([]byte, 0, traceBinLen)
	b = append(b, traceVersion, traceIDField)
	b = append(append(b, traceID[:]...), spanIDField)
	b = append(append(b, spanID[:]...), flagsField)
	return append(b, byte(sc.TraceFlags()))
}

func decodeTrace(s string) (trace.SpanContext, bool) {
	if len(s) != traceBinLen || s[0] != traceVersion || s[traceIDAt] != traceIDField ||
		s[spanIDAt] != spanIDField || s[flagsAt] != flagsField {
		return trace.SpanContext{}, false
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    trace.TraceID([]byte(s[traceIDAt+1 : spanIDAt])),
		SpanID:     trace.SpanID([]byte(s[spanIDAt+1 : flagsAt])),
		TraceFlags: trace.TraceFlags(s[flagsAt+1]),
		Remote:     true,
	})
	return sc, sc.IsValid()
}
