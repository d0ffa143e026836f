// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/limits"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// meter counts what is recorded, by the name of the metric and its label.
type meter struct {
	estats.UnimplementedMetricsRecorder
	stats.Handler
	mu sync.Mutex
	n  map[string]int64
}

func (m *meter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (m *meter) HandleRPC(context.Context, stats.RPCStats)                         {}
func (m *meter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (m *meter) HandleConn(context.Context, stats.ConnStats)                       {}

func (m *meter) RecordInt64Count(h *estats.Int64CountHandle, incr int64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.n == nil {
		m.n = map[string]int64{}
	}
	m.n[h.Name+" "+labels[0]] += incr
}

func (m *meter) count(name string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n[name]
}

// connect returns a connection on which the server has spoken, nil if it closed it at once.
func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(testservice.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 9)); err != nil {
		return nil
	}
	return c
}

// There are as many connections as there may be, of one address and in all; each that goes makes
// room.
func TestWishLimitOfConnections(t *testing.T) {
	for name, l := range map[string]limits.Limits{
		"connections":             {Connections: 2},
		"connections_per_address": {ConnectionsPerAddress: 2},
	} {
		t.Run(name, func(t *testing.T) {
			m, limiter := &meter{}, limits.New(l)
			s := testservice.Start(t, &testservice.Functions{}, limiter.Option(), grpc.StatsHandler(m))
			one, two := connect(t, s.Addr), connect(t, s.Addr)
			if one == nil || two == nil {
				t.Fatal("a connection within the limit was refused")
			}
			if connect(t, s.Addr) != nil {
				t.Error("a connection over the limit was taken")
			}
			if u := limiter.Usage(); u.Connections != 2 || u.RefusedConnections != 1 {
				t.Errorf("the usage is %+v", u)
			}
			if n := m.count("grpc.server.connections_refused " + name); n != 1 {
				t.Errorf("the metric is %d", n)
			}
			one.Close()
			for deadline := time.Now().Add(testservice.Patience); connect(t, s.Addr) == nil; {
				if time.Now().After(deadline) {
					t.Fatal("no room was made")
				}
			}
			two.Close()
		})
	}
}

// The place of an RPC is free when its client learns that it is over, whoever has ended it.
func TestPlaceIsFreeAtTheEnd(t *testing.T) {
	for name, start := range map[string]func(testing.TB, *testservice.Functions, ...grpc.ServerOption) *testservice.Service{
		"tcp": testservice.Start, "net/http": testservice.StartHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			limiter := limits.New(limits.Limits{RPCs: 1})
			s := start(t, &testservice.Functions{Stream: func(testservice.Duplex) error { return nil }}, limiter.Option(),
				grpc.StatsHandler(&meter{})) // RPCs of unknown methods get as far as others
			cc, client := s.Dial(t)
			ctx := testservice.Context(t)
			for range 300 {
				if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
					t.Fatal(err)
				}
				if err := cc.Invoke(ctx, "/unknown/unknown", &testpb.Empty{}, &testpb.Empty{}); status.Code(err) != codes.Unimplemented {
					t.Fatal(err)
				}
				st, err := client.FullDuplexCall(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := st.Recv(); !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
			if u := limiter.Usage(); u.RPCs != 0 || u.RefusedRPCs != 0 {
				t.Errorf("the usage is %+v", u)
			}
		})
	}
}

// TestPlaceIsFreeAfterPanic: an RPC whose tap panics, which net/http survives, leaves its place, too.
func TestPlaceIsFreeAfterPanic(t *testing.T) {
	limiter := limits.New(limits.Limits{RPCs: 1})
	var calm atomic.Bool
	s := testservice.StartHTTP(t, &testservice.Functions{}, limiter.Option(), grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		if !calm.Load() {
			panic(http.ErrAbortHandler)
		}
		return ctx, nil
	}))
	_, client := s.Dial(t)
	ctx := testservice.Context(t)
	if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err == nil {
		t.Error("the tap panics, and the RPC does not fail")
	}
	calm.Store(true)
	if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
		t.Error(err)
	}
}

// RPCs over the limit fail with RESOURCE_EXHAUSTED, but for those that are exempt; those that are
// over make room. Behind net/http it is the same.
func TestWishLimitOfRPCs(t *testing.T) {
	for name, start := range map[string]func(testing.TB, *testservice.Functions, ...grpc.ServerOption) *testservice.Service{
		"tcp": testservice.Start, "net/http": testservice.StartHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			m, limiter := &meter{}, limits.New(limits.Limits{
				RPCs:   1,
				Exempt: func(method string) bool { return method == "/grpc.testing.TestService/EmptyCall" },
			})
			s := start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
				_ = st.Send(&testpb.StreamingOutputCallResponse{})
				_, err := st.Recv()
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}}, limiter.Option(), grpc.StatsHandler(m))
			_, client := s.Dial(t)
			ctx := testservice.Context(t)
			open := func() (testservice.DuplexClient, error) {
				st, err := client.FullDuplexCall(ctx)
				if err != nil {
					t.Fatal(err)
				}
				_, err = st.Recv()
				return st, err
			}
			st, err := open()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := open(); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("an RPC over the limit ended with %v", err)
			}
			if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
				t.Errorf("an exempt RPC ended with %v", err)
			}
			if u := limiter.Usage(); u.RPCs != 1 || u.RefusedRPCs != 1 || m.count("grpc.server.rpcs_refused rpcs") != 1 {
				t.Errorf("the usage is %+v, the metric %d", u, m.count("grpc.server.rpcs_refused rpcs"))
			}
			if err := st.CloseSend(); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Recv(); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			for limiter.Usage().RPCs > 0 { // the handler is about to be counted as over
				if ctx.Err() != nil {
					t.Fatal("the RPC is not over")
				}
			}
			if st, err := open(); err != nil {
				t.Error(err)
			} else if st.CloseSend() == nil {
				_, _ = st.Recv()
			}
		})
	}
}

// While peers hold too much, RPCs and connections are refused.
func TestWishLimitOfBytesHeld(t *testing.T) {
	const most = 32 << 10
	limiter := limits.New(limits.Limits{BytesHeld: most})
	hold := make(chan struct{})
	back := testservice.Start(t, &testservice.Functions{Stream: func(testservice.Duplex) error { <-hold; return nil }})
	_, holder := back.Dial(t)
	s := testservice.Start(t, &testservice.Functions{}, limiter.Option())
	_, client := s.Dial(t)
	ctx := testservice.Context(t)
	if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
		t.Fatal(err)
	}
	st, err := holder.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Send(&testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: make([]byte, 2*most)}}); err != nil {
		t.Fatal(err)
	}
	for limiter.Usage().BytesHeld <= most { // until the message has arrived, which nobody reads
		if ctx.Err() != nil {
			t.Fatal("an open stream holds nothing")
		}
	}
	if connect(t, s.Addr) != nil {
		t.Error("a connection was taken")
	}
	if _, err := client.EmptyCall(ctx, &testpb.Empty{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("an RPC ended with %v", err)
	}
	if u := limiter.Usage(); u.RefusedConnections == 0 || u.RefusedRPCs == 0 {
		t.Errorf("the usage is %+v", u)
	}
	close(hold)
	if _, err := st.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for limiter.Usage().BytesHeld > most {
		if ctx.Err() != nil {
			t.Fatal("what is over is held")
		}
	}
	if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
		t.Error(err)
	}
}
