// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"sync"

	"google.golang.org/grpc/stats"
)

// received records the compressed flag of each message that was received on one RPC, in
// order. No API returns that flag, but stats events show it: the two lengths in an event differ
// if the message was compressed, because every payload of these cases is large enough to shrink.
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

// last returns the flag of the last message. ok is false if there was no message.
func (r *received) last() (compressed, ok bool) {
	flags := r.all()
	if len(flags) == 0 {
		return false, false
	}
	return flags[len(flags)-1], true
}

type receivedKey struct{}

// recordReceived returns a context and a new record. The flags of an RPC with that context are
// recorded in that record.
func recordReceived(ctx context.Context) (context.Context, *received) {
	r := &received{}
	return context.WithValue(ctx, receivedKey{}, r), r
}

// receivedFrom returns the record of the RPC with the context ctx, or nil if there is none.
func receivedFrom(ctx context.Context) *received {
	r, _ := ctx.Value(receivedKey{}).(*received)
	return r
}

// flagHandler is the stats handler that fills the records, on clients and servers. A client
// puts a record into the context of a call. On a server flagHandler makes one for each RPC.
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
