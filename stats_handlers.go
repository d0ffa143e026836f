// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/stats"
)

// statsHandlers are the stats handlers of a channel or a server. There may be none.
type statsHandlers []stats.Handler

// tag lets each handler add values to the context of an RPC or of an attempt.
func (hs statsHandlers) tag(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	all := false
	defer func() {
		if !all { // a handler exits or panics: nothing else will be told with this context
			hs.over(ctx)
		}
	}()
	for _, h := range hs {
		ctx = h.TagRPC(ctx, info)
	}
	all = true
	return ctx
}

func (hs statsHandlers) emit(ctx context.Context, event stats.RPCStats) {
	for _, h := range hs {
		h.HandleRPC(ctx, event)
	}
}

// over tells those of them that ask for it of the end of an RPC for which Begin was not told.
func (hs statsHandlers) over(ctx context.Context) {
	for _, h := range hs {
		if o, ok := h.(telemetry.Overseer); ok {
			o.RPCOver(ctx)
		}
	}
}
