// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"google.golang.org/grpc/internal/telemetry"
)

// traffic counts the messages of an attempt or a served call.
type traffic struct {
	span           trace.Span // nil if it is not traced
	sent, received direction
}

type direction struct {
	bytes atomic.Int64 // the compressed size of all messages
	count atomic.Int64 // the number of messages, counted only if there is a span
}

// Sent implements telemetry.Attempt and telemetry.Served.
func (t *traffic) Sent(m telemetry.Message) {
	t.sent.bytes.Add(int64(m.Compressed))
	if t.span != nil {
		t.sent.tell(t.span, "Outbound message", m)
	}
}

// Received implements telemetry.Attempt and telemetry.Served.
func (t *traffic) Received(m telemetry.Message) {
	t.received.bytes.Add(int64(m.Compressed))
	if t.span != nil {
		t.received.tell(t.span, "Inbound message", m)
	}
}

// tell counts a message and adds its event to a span (gRFC A72).
func (d *direction) tell(span trace.Span, event string, m telemetry.Message) {
	number := d.count.Add(1) - 1
	if !span.IsRecording() {
		return
	}
	attrs := []attribute.KeyValue{
		attribute.Int64("sequence-number", number),
		attribute.Int("message-size", m.Length),
	}
	if m.Compressed != m.Length {
		attrs = append(attrs, attribute.Int("message-size-compressed", m.Compressed))
	}
	span.AddEvent(event, trace.WithAttributes(attrs...))
}
