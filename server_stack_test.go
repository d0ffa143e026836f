// SPDX-License-Identifier: Apache-2.0

//go:build !race

package grpc_test

import (
	"context"
	"net"
	"runtime"
	"runtime/metrics"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats"
)

// waiting is a service whose handlers wait, each in its way.
type waiting struct {
	testpb.UnimplementedTestServiceServer
	begun chan struct{}
}

func (w *waiting) StreamingOutputCall(_ *testpb.StreamingOutputCallRequest, st grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	w.begun <- struct{}{}
	news := make(chan *testpb.StreamingOutputCallResponse)
	for {
		select {
		case m := <-news:
			if err := st.Send(m); err != nil {
				return err
			}
		case <-st.Context().Done():
			return st.Context().Err()
		}
	}
}

func (w *waiting) FullDuplexCall(st grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	w.begun <- struct{}{}
	for {
		if _, err := st.Recv(); err != nil {
			return err
		}
	}
}

// passing is what interceptors look like that do something around the handler.
func passing(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx := ss.Context()
	if ctx.Err() != nil || info.FullMethod == "" {
		return ctx.Err()
	}
	return handler(srv, ss)
}

type idleStats struct{}

func (idleStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (idleStats) HandleRPC(context.Context, stats.RPCStats)                         {}
func (idleStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (idleStats) HandleConn(context.Context, stats.ConnStats)                       {}

// A handler that waits does so on a stack of 4 KB once the collector has halved those that
// have grown: it does not if more than a quarter is in use.
func TestWaitingStacks(t *testing.T) {
	const n, most = 400, 4<<10 + 400
	for name, open := range map[string]func(context.Context, testpb.TestServiceClient) error{
		"in a select": func(ctx context.Context, c testpb.TestServiceClient) error {
			_, err := c.StreamingOutputCall(ctx, &testpb.StreamingOutputCallRequest{})
			return err
		},
		"in Recv": func(ctx context.Context, c testpb.TestServiceClient) error {
			_, err := c.FullDuplexCall(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for runtime.NumGoroutine() > 100 { // of a test before: they end by and by
				runtime.Gosched()
			}
			w := &waiting{begun: make(chan struct{})}
			s := grpc.NewServer(grpc.ChainStreamInterceptor(passing, passing), grpc.StatsHandler(idleStats{}), grpc.WaitForHandlers(true))
			testpb.RegisterTestServiceServer(s, w)
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = s.Serve(lis) }()
			defer s.Stop()
			cc, err := grpc.NewClient("passthrough:///"+lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer cc.Close()
			client := testpb.NewTestServiceClient(cc)
			before := uint64(0)
			for i := range 50 + n {
				if i == 50 {
					before = stacks()
				}
				if err := open(t.Context(), client); err != nil {
					t.Fatal(err)
				}
				<-w.begun
			}
			if took := int64(stacks()-before) / n; took > most {
				t.Errorf("a handler's stack takes %d bytes, want at most %d", took, most)
			} else {
				t.Logf("a handler's stack takes %d bytes", took)
			}
		})
	}
}

// stacks is how much memory stacks take, once the collector has seen to them.
func stacks() uint64 {
	for range 5 {
		runtime.GC()
	}
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
