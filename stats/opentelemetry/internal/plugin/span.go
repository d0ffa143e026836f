// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"

	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"google.golang.org/grpc/status"
)

// spanName returns the name of the span of a method, such as "Sent.package.Service.Method".
func spanName(kind, method string) string {
	return kind + "." + strings.ReplaceAll(valid(bare(method)), "/", ".")
}

// endSpan ends a span with the status of err.
func endSpan(span trace.Span, err error) {
	if err == nil {
		span.SetStatus(otelcodes.Ok, "")
	} else {
		text := status.Convert(err).Message()
		span.SetStatus(otelcodes.Error, valid(text[:min(len(text), maxText)]))
	}
	span.End()
}

// maxText bounds the description of a span, in bytes: exporters send many spans at once, and lose all if that is more
// than the collector takes.
const maxText = 4 << 10

// valid returns s, which a peer may have chosen, as UTF-8: an exporter loses all that it exports at once for a text that
// is not.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
