// SPDX-License-Identifier: Apache-2.0

package testservice

import (
	"context"

	"google.golang.org/grpc/stats"
)

// ConnEnds is a stats handler that sends one value to the channel for each connection that ends.
type ConnEnds chan struct{}

// TagConn implements stats.Handler.
func (ConnEnds) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// TagRPC implements stats.Handler.
func (ConnEnds) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (ConnEnds) HandleRPC(context.Context, stats.RPCStats) {}

// HandleConn implements stats.Handler.
func (e ConnEnds) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnEnd); ok {
		e <- struct{}{}
	}
}
