// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// healthServer is a server whose only service is health.
func healthServer(t *testing.T, network, addr string, opts ...grpc.ServerOption) (*health.Server, string) {
	t.Helper()
	lis, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	s, h := grpc.NewServer(opts...), health.NewServer()
	healthpb.RegisterHealthServer(s, h)
	done := make(chan error, 1)
	go func() { done <- s.Serve(lis) }()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return h, lis.Addr().String()
}

func newChannel(t *testing.T, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	cc, err := grpc.NewClient(target, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

func awaitState(ctx context.Context, t *testing.T, cc *grpc.ClientConn, want connectivity.State) {
	t.Helper()
	for s := cc.GetState(); s != want; s = cc.GetState() {
		if !cc.WaitForStateChange(ctx, s) {
			t.Fatalf("the channel is %v, want %v", s, want)
		}
	}
}

// check asks for the health of the whole server, and returns who answered.
func check(ctx context.Context, cc *grpc.ClientConn, opts ...grpc.CallOption) (string, error) {
	var p peer.Peer
	_, err := healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{}, append(opts, grpc.Peer(&p))...)
	if p.Addr == nil {
		return "", err
	}
	return p.Addr.String(), err
}

// anyReady is a picker of package base: it takes the servers that are ready in turn.
type anyReady struct {
	ready []balancer.SubConn
	n     atomic.Uint32
}

func (p *anyReady) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: p.ready[p.n.Add(1)%uint32(len(p.ready))]}, nil
}

type anyReadyBuilder struct{}

func (anyReadyBuilder) Build(info base.PickerBuildInfo) balancer.Picker {
	if len(info.ReadySCs) == 0 {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	return &anyReady{ready: slices.Collect(maps.Keys(info.ReadySCs))}
}

func init() {
	balancer.Register(base.NewBalancerBuilder("test_base_health", anyReadyBuilder{}, base.Config{HealthCheck: true}))
}

// checksOnly is a stats handler that is told of the program's RPCs, all of which are Check, and of none that the
// channel makes for itself.
type checksOnly struct{ t *testing.T }

func (c checksOnly) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	if i.FullMethodName != healthpb.Health_Check_FullMethodName {
		c.t.Errorf("told of %s", i.FullMethodName)
	}
	return ctx
}

func (c checksOnly) HandleRPC(context.Context, stats.RPCStats)                         {}
func (c checksOnly) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (c checksOnly) HandleConn(context.Context, stats.ConnStats)                       {}

// TestClientHealthCheck is for both ways in which a policy can follow the health: a
// listener of its own, and the state of the subchannel.
func TestClientHealthCheck(t *testing.T) {
	for _, policy := range []string{"round_robin", "test_base_health"} {
		t.Run(policy, func(t *testing.T) { clientHealthCheck(t, policy) })
	}
}

func clientHealthCheck(t *testing.T, policy string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	h1, addr1 := healthServer(t, "tcp", "127.0.0.1:0")
	h2, addr2 := healthServer(t, "tcp", "127.0.0.1:0")
	r := manual.NewBuilderWithScheme("test")
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: addr1}, {Addr: addr2}}})
	config := `{"loadBalancingConfig":[{"` + policy + `":{}}],"healthCheckConfig":{"serviceName":"wanted"}}`
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	cc := newChannel(t, "test:///x", plain, grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(config), grpc.WithStatsHandler(checksOnly{t}))

	h1.SetServingStatus("wanted", healthpb.HealthCheckResponse_SERVING)
	h2.SetServingStatus("wanted", healthpb.HealthCheckResponse_NOT_SERVING)
	for range 5 {
		if got, err := check(ctx, cc, grpc.WaitForReady(true)); err != nil || got != addr1 {
			t.Fatalf("answered by %s, %v; only %s is healthy", got, err, addr1)
		}
	}
	h2.SetServingStatus("wanted", healthpb.HealthCheckResponse_SERVING)
	seen := make(map[string]bool)
	for len(seen) < 2 {
		got, err := check(ctx, cc)
		if err != nil {
			t.Fatal(err)
		}
		seen[got] = true
	}
	h1.SetServingStatus("wanted", healthpb.HealthCheckResponse_NOT_SERVING)
	h2.SetServingStatus("wanted", healthpb.HealthCheckResponse_NOT_SERVING)
	awaitState(ctx, t, cc, connectivity.TransientFailure)
	if _, err := check(ctx, cc); status.Code(err) != codes.Unavailable {
		t.Errorf("no server is healthy: %v", err)
	}
	off := newChannel(t, "test:///x", plain, grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(config), grpc.WithDisableHealthCheck())
	if _, err := check(ctx, off); err != nil {
		t.Errorf("without health checks: %v", err)
	}
}

func TestClientTLS(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	serverCreds, err := credentials.NewServerTLSFromFile(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	clientCreds, err := credentials.NewClientTLSFromFile(files.CA, "")
	if err != nil {
		t.Fatal(err)
	}
	_, addr := healthServer(t, "tcp", "127.0.0.1:0", grpc.Creds(serverCreds))
	secure := grpc.WithTransportCredentials(clientCreds)
	for _, tt := range []struct {
		what string
		opts []grpc.DialOption
		call []grpc.CallOption
		want codes.Code
	}{
		{what: "the right name", opts: []grpc.DialOption{grpc.WithAuthority(testcerts.ServerName)}},
		{what: "another name", opts: []grpc.DialOption{grpc.WithAuthority("other.example")}, want: codes.Unavailable},
		{
			what: "another name for one RPC", opts: []grpc.DialOption{grpc.WithAuthority(testcerts.ServerName)},
			call: []grpc.CallOption{grpc.CallAuthority("other.example")}, want: codes.Unavailable,
		},
		{
			what: "the right name for one RPC", opts: []grpc.DialOption{grpc.WithAuthority(testcerts.ServerName)},
			call: []grpc.CallOption{grpc.CallAuthority(testcerts.ServerName)},
		},
	} {
		cc := newChannel(t, "passthrough:///"+addr, append(tt.opts, secure)...)
		if _, err := check(ctx, cc, tt.call...); status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, err, tt.want)
		}
	}
}

func TestClientUnixTargets(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	path := t.TempDir() + "/s"
	healthServer(t, "unix", path)
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	for _, target := range []string{"unix:" + path, "unix://" + path, "passthrough:///unix:" + path} {
		if _, err := check(ctx, newChannel(t, target, plain)); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}
