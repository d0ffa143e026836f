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
	return kind + "." + strings.ReplaceAll(bare(method), "/", ".")
}

// endSpan ends a span with the status of err.
func endSpan(span trace.Span, err error) {
	if err == nil {
		span.SetStatus(otelcodes.Ok, "")
	} else {
		// A peer may send any bytes. An exporter loses all that it exports at once for one that is not UTF-8.
		span.SetStatus(otelcodes.Error, strings.ToValidUTF8(status.Convert(err).Message(), "\ufffd"))
	}
	span.End()
}
