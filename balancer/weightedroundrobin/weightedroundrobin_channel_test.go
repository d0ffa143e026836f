// SPDX-License-Identifier: Apache-2.0

package weightedroundrobin_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer/weightedroundrobin"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// server is a real one that reports a load.
type server struct {
	addr string
	rpcs atomic.Int64
}

// newServer returns a server that does qps at half its load, as it reports in trailers or
// out of band.
func newServer(t *testing.T, qps float64, outOfBand bool) *server {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: lis.Addr().String()}
	count := grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		s.rpcs.Add(1)
		if !outOfBand {
			r := orca.CallMetricsRecorderFromContext(ctx)
			r.SetQPS(qps)
			r.SetCPUUtilization(0.5)
		}
		return handler(ctx, req)
	})
	gs := grpc.NewServer(orca.CallMetricsServerOption(nil), count)
	healthpb.RegisterHealthServer(gs, health.NewServer())
	if outOfBand {
		r := orca.NewServerMetricsRecorder()
		r.SetQPS(qps)
		r.SetApplicationUtilization(0.5)
		if err := orca.Register(gs, orca.ServiceOptions{ServerMetricsProvider: r}); err != nil {
			t.Fatal(err)
		}
	}
	go gs.Serve(lis)
	t.Cleanup(gs.Stop)
	return s
}

func TestChannel(t *testing.T) {
	for _, outOfBand := range []bool{false, true} {
		t.Run(fmt.Sprintf("outOfBand=%t", outOfBand), func(t *testing.T) { testChannel(t, outOfBand) })
	}
}

func testChannel(t *testing.T, outOfBand bool) {
	one, three := newServer(t, 1, outOfBand), newServer(t, 3, outOfBand)
	r := manual.NewBuilderWithScheme("test")
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: one.addr}, {Addr: three.addr}}})
	config := fmt.Sprintf(`{"loadBalancingConfig": [{%q: {
		"enableOobLoadReport": %t, "blackoutPeriod": "0s", "weightUpdatePeriod": "0.1s"}}]}`, weightedroundrobin.Name, outOfBand)
	cc, err := grpc.NewClient("test:///x", grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(config),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := healthpb.NewHealthClient(cc)
	for {
		one.rpcs.Store(0)
		three.rpcs.Store(0)
		for range 200 {
			if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
				t.Fatalf("with %d and %d of 200 RPCs in the last round: %v", one.rpcs.Load(), three.rpcs.Load(), err)
			}
		}
		if n := one.rpcs.Load(); n >= 44 && n <= 56 {
			return // a quarter, as it should be
		}
	}
}
