// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	_ "google.golang.org/grpc/xds" // registers the policies
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// backend is a server that answers with its name.
type backend struct {
	testpb.UnimplementedTestServiceServer
	name string
	port uint32
	// handle, if it is there, decides how a call ends.
	handle  func(context.Context) error
	options []grpc.ServerOption
	server  *grpc.Server
}

func newBackend(t *testing.T, name string, options ...grpc.ServerOption) *backend {
	t.Helper()
	b := &backend{name: name, options: options}
	b.start(t, "127.0.0.1:0")
	return b
}

func (b *backend) start(t *testing.T, address string, services ...func(*grpc.Server)) {
	t.Helper()
	lis, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	b.port = uint32(lis.Addr().(*net.TCPAddr).Port)
	b.server = grpc.NewServer(b.options...)
	testpb.RegisterTestServiceServer(b.server, b)
	for _, register := range services {
		register(b.server)
	}
	go b.server.Serve(lis) // it ends with Stop
	t.Cleanup(b.server.Stop)
}

func (b *backend) address() string { return "127.0.0.1:" + strconv.Itoa(int(b.port)) }

// UnaryCall implements the test service.
func (b *backend) UnaryCall(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if b.handle != nil {
		if err := b.handle(ctx); err != nil {
			return nil, err
		}
	}
	return &testpb.SimpleResponse{ServerId: b.name}, nil
}

// EmptyCall implements the test service.
func (b *backend) EmptyCall(ctx context.Context, _ *testpb.Empty) (*testpb.Empty, error) {
	if b.handle != nil {
		if err := b.handle(ctx); err != nil {
			return nil, err
		}
	}
	return &testpb.Empty{}, nil
}

// FullDuplexCall implements the test service: it answers each message.
func (b *backend) FullDuplexCall(s testpb.TestService_FullDuplexCallServer) error {
	for {
		if _, err := s.Recv(); err != nil {
			return nil //nolint:nilerr // the client has finished
		}
		if err := s.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// channel makes one for "xds:///target", with what the control planes say.
func channel(t *testing.T, options []grpc.DialOption, planes ...*plane) *grpc.ClientConn {
	t.Helper()
	return channelTo(t, "xds:///target", xdsresolver.Builder{Pool: pool(t, planes...)}, options...)
}

func channelTo(t *testing.T, target string, b resolver.Builder, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	options = append([]grpc.DialOption{grpc.WithResolvers(b), grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	cc, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

// call makes an RPC, which waits until there is a server, and returns the server's name.
func call(t *testing.T, cc *grpc.ClientConn, options ...grpc.CallOption) string {
	t.Helper()
	name, err := try(t.Context(), t, cc, append(options, grpc.WaitForReady(true))...)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func try(ctx context.Context, t *testing.T, cc *grpc.ClientConn, options ...grpc.CallOption) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := testpb.NewTestServiceClient(cc).UnaryCall(ctx, &testpb.SimpleRequest{}, options...)
	return r.GetServerId(), err
}

// talking opens a stream on which the server has answered, and leaves it open until ctx ends.
func talking(ctx context.Context, t *testing.T, cc *grpc.ClientConn, options ...grpc.CallOption) testpb.TestService_FullDuplexCallClient {
	t.Helper()
	s, err := testpb.NewTestServiceClient(cc).FullDuplexCall(ctx, options...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	return s
}

// becomes makes RPCs until they go to the server.
func becomes(t *testing.T, cc *grpc.ClientConn, name string) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		got, err := try(t.Context(), t, cc)
		if err == nil && got == name {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("RPCs go to %q, %v; want %q", got, err, name)
		}
	}
}

// shares makes RPCs, and returns how many went to each server.
func shares(t *testing.T, cc *grpc.ClientConn, n int) map[string]int {
	t.Helper()
	got := make(map[string]int)
	for range n {
		got[call(t, cc)]++
	}
	return got
}

// local is a locality of some backends.
func local(zone string, priority, weight uint32, backends ...*backend) *endpointv3.LocalityLbEndpoints {
	l := &endpointv3.LocalityLbEndpoints{
		Locality: &corev3.Locality{Zone: zone}, Priority: priority, LoadBalancingWeight: wrapperspb.UInt32(weight),
	}
	for _, b := range backends {
		l.LbEndpoints = append(l.LbEndpoints, &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
			Endpoint: &endpointv3.Endpoint{Address: address(b.port)},
		}})
	}
	return l
}

func address(port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func assignment(name string, localities ...*endpointv3.LocalityLbEndpoints) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: localities}
}

// routes is a RouteConfiguration "r" for all hosts.
func routes(list ...*routev3.Route) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{{Domains: []string{"*"}, Routes: list}}}
}

// to is a route to a cluster, for all paths.
func to(cluster string, change ...func(*routev3.Route)) *routev3.Route {
	r := &routev3.Route{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}},
	}
	for _, f := range change {
		f(r)
	}
	return r
}
