// SPDX-License-Identifier: Apache-2.0

package ringhash_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer/ringhash"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

func newServer(t *testing.T) (addr string, stop func()) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gs := grpc.NewServer()
	healthpb.RegisterHealthServer(gs, health.NewServer())
	go gs.Serve(lis)
	t.Cleanup(gs.Stop)
	return lis.Addr().String(), gs.GracefulStop
}

// Each user stays with a server while it is there.
func TestChannel(t *testing.T) {
	r := manual.NewBuilderWithScheme("test")
	stops := make(map[string]func())
	var s resolver.State
	for range 3 {
		addr, stop := newServer(t)
		stops[addr] = stop
		s.Addresses = append(s.Addresses, resolver.Address{Addr: addr})
	}
	r.InitialState(s)
	cc, err := grpc.NewClient("test:///x", grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig": [{%q: {"requestHashHeader": "user"}}]}`, ringhash.Name)))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := healthpb.NewHealthClient(cc)
	served := func(user string) string {
		t.Helper()
		var p peer.Peer
		ctx := metadata.AppendToOutgoingContext(ctx, "user", user)
		if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Peer(&p), grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		return p.Addr.String()
	}
	of := make(map[string]string)
	for i := range 30 {
		user := fmt.Sprint("user", i)
		of[user] = served(user)
		if again := served(user); again != of[user] {
			t.Errorf("%s moved from %s to %s", user, of[user], again)
		}
	}
	lost := of["user0"]
	stops[lost]()
	for user, addr := range of {
		now := served(user)
		if addr == lost && now == lost || addr != lost && now != addr {
			t.Errorf("%s moved from %s to %s when %s went", user, addr, now, lost)
		}
	}
}

// A program may ask for a connection without an RPC (gRFC A117).
func TestConnect(t *testing.T) {
	addr, _ := newServer(t)
	r := manual.NewBuilderWithScheme("test")
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: addr}}})
	cc, err := grpc.NewClient("test:///x", grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig": [{%q: {}}]}`, ringhash.Name)))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cc.Connect()
	for s := cc.GetState(); s != connectivity.Ready; s = cc.GetState() {
		if s == connectivity.Idle {
			cc.Connect()
		}
		if !cc.WaitForStateChange(ctx, s) {
			t.Fatalf("still %v", s)
		}
	}
}
