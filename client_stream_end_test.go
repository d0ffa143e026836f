// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// slowEnd is a stats handler that lets others run before it takes the end of an RPC.
type slowEnd struct{ told atomic.Bool }

func (*slowEnd) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*slowEnd) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*slowEnd) HandleConn(context.Context, stats.ConnStats)                       {}

func (h *slowEnd) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, is := s.(*stats.End); is {
		for range 10_000 {
			runtime.Gosched()
		}
		h.told.Store(true)
	}
}

// TestEndIsToldFirst: RecvMsg of a stream whose deadline passes, which another goroutine ends, returns
// once call options are filled and stats handlers have been told.
func TestEndIsToldFirst(t *testing.T) {
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, st grpc.ServerStream) error {
		_ = st.SendHeader(metadata.Pairs("k", "v"))
		<-st.Context().Done()
		return nil
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	defer s.Stop()
	for range 20 {
		h := &slowEnd{}
		cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(h))
		if err != nil {
			t.Fatal(err)
		}
		ctx, expire := expiring(t.Context())
		var header metadata.MD
		st, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/a/b", grpc.Header(&header))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Header(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(0, expire)
		if err := st.RecvMsg(new(healthpb.HealthCheckResponse)); status.Code(err) != codes.DeadlineExceeded {
			t.Fatalf("RecvMsg: %v", err)
		}
		if !h.told.Load() || header == nil {
			t.Fatalf("when RecvMsg returns: stats handler told %v, header %v", h.told.Load(), header)
		}
		cc.Close()
	}
}

// expiring returns a context whose deadline passes when expire is called.
func expiring(parent context.Context) (ctx context.Context, expire func()) {
	inner, cancel := context.WithCancel(parent)
	return expired{inner}, cancel
}

// expired says DeadlineExceeded where its context says Canceled.
type expired struct{ context.Context }

// Err implements context.Context.
func (e expired) Err() error {
	if e.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}
