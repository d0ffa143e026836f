// SPDX-License-Identifier: Apache-2.0

package leastrequest_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/leastrequest"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// server is a real one that counts its RPCs.
type server struct {
	addr           string
	calls, streams atomic.Int64
}

func newServer(t *testing.T) *server {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: lis.Addr().String()}
	gs := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			s.calls.Add(1)
			return handler(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			s.streams.Add(1)
			return handler(srv, ss)
		}))
	healthpb.RegisterHealthServer(gs, health.NewServer())
	go gs.Serve(lis)
	t.Cleanup(gs.Stop)
	return s
}

// The server that has a stream gets few calls.
func TestChannel(t *testing.T) {
	busy, free := newServer(t), newServer(t)
	r := manual.NewBuilderWithScheme("test")
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: busy.addr}, {Addr: free.addr}}})
	cc, err := grpc.NewClient("test:///x", grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"least_request_experimental": {"choiceCount": 10}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := healthpb.NewHealthClient(cc)
	for busy.calls.Load() == 0 || free.calls.Load() == 0 { // both are connected then
		if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	if busy.streams.Load() == 0 {
		busy, free = free, busy
	}
	busy.calls.Store(0)
	free.calls.Store(0)
	for range 100 {
		if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	// Ten samples of two miss the free one in one of a thousand picks.
	if n := busy.calls.Load(); n > 5 {
		t.Errorf("the busy server got %d of 100 calls", n)
	}
}
