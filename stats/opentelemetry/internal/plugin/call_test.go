// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"google.golang.org/grpc/internal/telemetry"
)

// histogram calls a function when it records.
type histogram struct {
	noop.Int64Histogram
	record func(int64)
}

func (h histogram) Record(_ context.Context, n int64, _ ...metric.RecordOption) { h.record(n) }

// TestAttemptsEndWhileRetriesAreRecorded: an instrument of the program may wait for an attempt, such as a hedge, to end.
func TestAttemptsEndWhileRetriesAreRecorded(t *testing.T) {
	var recorded int64
	c := &call{Context: t.Context(), points: &points{begun: newPoint()}}
	c.channel = &channel{Client: &Client{}}
	c.channel.instruments.hedges = histogram{record: func(n int64) {
		recorded = n
		c.first.End(nil, nil)
	}}
	a := c.newAttempt(&telemetry.AttemptInfo{Hedge: true})
	if a != &c.first {
		t.Fatal("another attempt")
	}
	c.End(nil)
	if recorded != 1 {
		t.Errorf("%d hedges", recorded)
	}
}
