// SPDX-License-Identifier: Apache-2.0

package roam

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// failing is a service that fails calls as long as there are failures left.
type failing struct {
	benchpb.UnimplementedBenchServer
	left atomic.Int32
}

func (f *failing) Echo(_ context.Context, m *benchpb.Message) (*benchpb.Message, error) {
	if f.left.Add(-1) >= 0 {
		return nil, status.Error(codes.ResourceExhausted, "not yet")
	}
	return m, nil
}

func serve(t *testing.T, f *failing) (address string, server *grpc.Server) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server = grpc.NewServer()
	benchpb.RegisterBenchServer(server, f)
	go func() { _ = server.Serve(lis) }()
	t.Cleanup(server.Stop)
	return lis.Addr().String(), server
}

func start(t *testing.T, args ops.Roam) *Client {
	t.Helper()
	c, err := Start(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRecoverCountsFailedCalls(t *testing.T) {
	service := &failing{}
	address, _ := serve(t, service)
	c := start(t, ops.Roam{Target: address, Keepalive: true})
	service.left.Store(2)
	got, err := c.Recover(t.Context(), ops.Recover{Within: time.Minute})
	if err != nil || got.At == 0 || got.Failed != 2 || got.Dials != 0 || got.Lookups != 0 {
		t.Errorf("%+v, %v; want 2 failed calls, then a success", got, err)
	}
}

func TestRecoverFollowsTheResolver(t *testing.T) {
	first, server := serve(t, &failing{})
	second := &failing{}
	second.left.Store(1)
	then, _ := serve(t, second)
	c := start(t, ops.Roam{Target: first})
	server.Stop()
	got, err := c.Recover(t.Context(), ops.Recover{Then: then, Within: time.Minute})
	if err != nil || got.At == 0 || got.Dials == 0 || got.Lookups == 0 {
		t.Errorf("%+v, %v; want a success after the resolver was asked", got, err)
	}
}

func TestRecoverGivesUp(t *testing.T) {
	service := &failing{}
	address, _ := serve(t, service)
	c := start(t, ops.Roam{Target: address})
	service.left.Store(1 << 30)
	got, err := c.Recover(t.Context(), ops.Recover{Within: 10 * time.Millisecond})
	if err != nil || got.At != 0 || got.Failed == 0 {
		t.Errorf("%+v, %v; want no success", got, err)
	}
}
