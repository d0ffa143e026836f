// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A peer's text may be any bytes, and a span's is UTF-8.
func TestSpanTextIsUTF8(t *testing.T) {
	kept := tracetest.NewSpanRecorder()
	if got := spanName("Sent", "/a/\xff"); got != "Sent.a.\ufffd" {
		t.Errorf("%q", got)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept))
	_, span := provider.Tracer("test").Start(context.Background(), "span")
	endSpan(span, status.Error(codes.NotFound, "a\xff"))
	if spans := kept.Ended(); len(spans) != 1 || spans[0].Status().Description != "a\ufffd" {
		t.Errorf("%v", spans)
	}
	if err := provider.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
