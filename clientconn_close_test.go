// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
)

// lockedEnd is a stats handler that takes the end of an RPC under a lock of the program's.
type lockedEnd struct {
	mu    *sync.Mutex
	ended chan struct{} // closed when the end was taken
}

func (*lockedEnd) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*lockedEnd) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*lockedEnd) HandleConn(context.Context, stats.ConnStats)                       {}

func (h *lockedEnd) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, is := s.(*stats.End); is {
		h.mu.Lock()
		defer h.mu.Unlock()
		close(h.ended)
	}
}

// TestCloseNeedsNoEnd: Close does not wait until stats handlers have taken the ends of RPCs, which may need a
// lock that the program holds while it calls Close.
func TestCloseNeedsNoEnd(t *testing.T) {
	e := newEcho()
	e.stream = func(s ServerStream) error { <-s.Context().Done(); return nil }
	h := &lockedEnd{mu: new(sync.Mutex), ended: make(chan struct{})}
	cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(h))
	s, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	h.mu.Lock()
	unlock := sync.OnceFunc(h.mu.Unlock)
	defer unlock()
	go func() { closed <- cc.Close() }()
	if err := within(t, closed, "Close"); err != nil {
		t.Error(err)
	}
	unlock()
	within(t, h.ended, "stats.End")
	wantCode(t, "RecvMsg", s.RecvMsg(new(text)), codes.Canceled)
}
