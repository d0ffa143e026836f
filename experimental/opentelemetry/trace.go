// SPDX-License-Identifier: Apache-2.0

// Package opentelemetry has the options of package stats/opentelemetry for tracing.
//
// All of it may change or move in a later release.
package opentelemetry

import (
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// TraceOptions say how RPCs are traced (gRFC A72). If either field is nil, nothing is traced.
type TraceOptions struct {
	// TracerProvider makes the spans.
	TracerProvider trace.TracerProvider
	// TextMapPropagator carries the identities of spans from clients to servers, in the metadata of
	// RPCs. It can be, for example, the one of go.opentelemetry.io/otel/propagation for W3C's trace
	// context, GRPCTraceBinPropagator of stats/opentelemetry, or a composite of both.
	TextMapPropagator propagation.TextMapPropagator
}
