// SPDX-License-Identifier: Apache-2.0

// Package telemetry lets a program see the labels that balancers give to RPCs.
//
// All of it may change or go in a later release.
package telemetry

import (
	"context"

	"google.golang.org/grpc/internal/stats"
)

// NewContextWithLabelCallback returns a context for RPCs, whose attempts tell callback the
// labels of telemetry that the balancer gives them, such as "grpc.lb.locality" (gRFC A78)
// and "grpc.lb.backend_service" (gRFC A89), by their names. It is called during the pick,
// so it must not wait; each time with a map of its own. If ctx has a callback already,
// both are called, that of ctx first. Without such labels it is not called.
func NewContextWithLabelCallback(ctx context.Context, callback stats.LabelCallback) context.Context {
	return stats.WithLabelCallback(ctx, callback)
}
