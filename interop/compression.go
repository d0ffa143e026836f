// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"sync"

	"google.golang.org/grpc/stats"
)

// received records, for the messages that arrived on one RPC and in their order, whether
// each had its compressed flag set. That flag has no API of its own; the stats events show
// it, because every payload of these cases is large enough to shrink when compressed.
type received struct {
	mu         sync.Mutex
	compressed []bool
}

func (r *received) add(compressed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.compressed = append(r.compressed, compressed)
}

// all returns the flags seen so far.
func (r *received) all() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]bool(nil), r.compressed...)
}

// last returns the flag of the message that arrived last; ok is false if there was none.
func (r *received) last() (compressed, ok bool) {
	flags := r.all()
	if len(flags) == 0 {
		return false, false
	}
	return flags[len(flags)-1], true
}

type receivedKey struct{}

// recordReceived returns a context whose RPC records into the value returned beside it.
func recordReceived(ctx context.Context) (context.Context, *received) {
	r := &received{}
	return context.WithValue(ctx, receivedKey{}, r), r
}

// receivedFrom returns what the RPC of ctx recorded, or nil where nothing records.
func receivedFrom(ctx context.Context) *received {
	r, _ := ctx.Value(receivedKey{}).(*received)
	return r
}

// flagHandler is the stats handler that fills the records, on either side. A client names
// its record in the context of the call; on a server each RPC gets one.
type flagHandler struct{}

func (flagHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	if receivedFrom(ctx) != nil {
		return ctx
	}
	ctx, _ = recordReceived(ctx)
	return ctx
}

func (flagHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	in, ok := event.(*stats.InPayload)
	if !ok {
		return
	}
	if r := receivedFrom(ctx); r != nil {
		r.add(in.CompressedLength != in.Length)
	}
}

func (flagHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (flagHandler) HandleConn(context.Context, stats.ConnStats) {}
