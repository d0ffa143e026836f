// SPDX-License-Identifier: Apache-2.0

// Package telemetry lets a program see the labels that balancers give to RPCs.
//
// All of it may change, or be removed, in a later release.
package telemetry

import (
	"context"

	"google.golang.org/grpc/internal/stats"
)

// NewContextWithLabelCallback returns a context for RPCs. The attempts of these call callback with the
// telemetry labels that the balancer gives them, by name, such as "grpc.lb.locality" (gRFC A78) and
// "grpc.lb.backend_service" (gRFC A89). The call comes during the pick, so callback must not wait; each
// call has a map of its own. If ctx already has a callback, both are called, that of ctx first. Without
// such labels callback is not called.
func NewContextWithLabelCallback(ctx context.Context, callback stats.LabelCallback) context.Context {
	return stats.WithLabelCallback(ctx, callback)
}
