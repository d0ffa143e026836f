// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"runtime/pprof"
)

// labelGoroutine gives the goroutine that calls it, and those that it will start, the label
// grpc.method, and returns the context that has it. pprof.SetGoroutineLabels with the context
// from before takes it away.
func labelGoroutine(ctx context.Context, method string) context.Context {
	ctx = pprof.WithLabels(ctx, pprof.Labels("grpc.method", method))
	pprof.SetGoroutineLabels(ctx)
	return ctx
}
