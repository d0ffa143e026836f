// SPDX-License-Identifier: Apache-2.0

// Package opentelemetry holds the options of tracing that package
// stats/opentelemetry takes.
//
// All of it may change or move in a later release.
package opentelemetry

import (
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// TraceOptions say how RPCs are traced (gRFC A72). Both fields are needed: with one of
// them nil nothing is traced.
type TraceOptions struct {
	// TracerProvider makes the spans.
	TracerProvider trace.TracerProvider
	// TextMapPropagator carries the spans' identities from clients to servers, in the
	// metadata of RPCs: for example that of go.opentelemetry.io/otel/propagation for W3C's
	// trace context, GRPCTraceBinPropagator of stats/opentelemetry, or a composite of both.
	TextMapPropagator propagation.TextMapPropagator
}
