// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const checkedConfig = `{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": "svc"}}`

// start returns a server with the services that register adds, and a channel to it.
func start(t *testing.T, serviceConfig string, register func(*grpc.Server)) *grpc.ClientConn {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	cc, err := grpc.NewClient(lis.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(serviceConfig))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cc.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return cc
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func await(ctx context.Context, t *testing.T, cc *grpc.ClientConn, want connectivity.State) {
	t.Helper()
	for cc.Connect(); ; {
		s := cc.GetState()
		if s == want {
			return
		}
		if !cc.WaitForStateChange(ctx, s) {
			t.Fatalf("the state stays %v, want %v", s, want)
		}
	}
}

// TestChannelFollowsHealth: a channel sends RPCs only while the server says that it serves.
func TestChannelFollowsHealth(t *testing.T) {
	hs := health.NewServer()
	cc := start(t, checkedConfig, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, hs) })
	ctx := testContext(t)
	client := healthpb.NewHealthClient(cc)

	await(ctx, t, cc, connectivity.TransientFailure)
	if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("unknown service: %v", err)
	}
	hs.SetServingStatus("svc", healthpb.HealthCheckResponse_SERVING)
	await(ctx, t, cc, connectivity.Ready)
	if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	hs.SetServingStatus("svc", healthpb.HealthCheckResponse_NOT_SERVING)
	await(ctx, t, cc, connectivity.TransientFailure)
	answered := make(chan error, 1)
	go func() {
		_, err := client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
		answered <- err
	}()
	hs.SetServingStatus("svc", healthpb.HealthCheckResponse_SERVING)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestServerWithoutHealth: a server that does not have the service counts as healthy.
func TestServerWithoutHealth(t *testing.T) {
	cc := start(t, checkedConfig, func(*grpc.Server) {})
	await(testContext(t), t, cc, connectivity.Ready)
}

// TestPickFirstDoesNotCheck, as gRFC A17 has it.
func TestPickFirstDoesNotCheck(t *testing.T) {
	hs := health.NewServer()
	cc := start(t, `{"healthCheckConfig": {"serviceName": "svc"}}`, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, hs) })
	await(testContext(t), t, cc, connectivity.Ready)
}

// TestService calls all methods over a connection.
func TestService(t *testing.T) {
	hs := health.NewServer()
	cc := start(t, "{}", func(s *grpc.Server) { healthpb.RegisterHealthServer(s, hs) })
	ctx, cancel := context.WithCancel(testContext(t))
	client := healthpb.NewHealthClient(cc)

	if resp, err := client.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil || resp.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", resp, err)
	}
	if _, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: "a"}); status.Code(err) != codes.NotFound {
		t.Errorf("%v", err)
	}
	if resp, err := client.List(ctx, &healthpb.HealthListRequest{}); err != nil || len(resp.Statuses) != 1 {
		t.Errorf("%v, %v", resp, err)
	}
	watch, err := client.Watch(ctx, &healthpb.HealthCheckRequest{Service: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{
		healthpb.HealthCheckResponse_SERVICE_UNKNOWN, healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING,
	} {
		if want != healthpb.HealthCheckResponse_SERVICE_UNKNOWN {
			hs.SetServingStatus("a", want)
		}
		if resp, err := watch.Recv(); err != nil || resp.Status != want {
			t.Errorf("%v, %v, want %v", resp, err, want)
		}
	}
	cancel()
	if _, err := watch.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
}
