// SPDX-License-Identifier: Apache-2.0

package link

import (
	"go.opentelemetry.io/otel/sdk/metric"

	"google.golang.org/grpc/stats/opentelemetry"
)

// measuring has RPCs measured by OpenTelemetry's SDK, as a program would that exports what
// it measures now and then.
func measuring() opentelemetry.Options {
	return opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{
		MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
	}}
}
