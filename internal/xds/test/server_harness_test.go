// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacconfigv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/xds/xdsclient"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/proto"
)

// template is how servers find their Listeners.
const template = "server/%s"

// mode is what a server says of itself.
type mode struct {
	addr string
	mode connectivity.ServingMode
	err  error
}

// xdsServer is an xDS server of a test.
type xdsServer struct {
	t     *testing.T
	gs    *xds.GRPCServer
	addr  string // "ip:port" that it listens on
	port  uint32
	modes chan mode
}

// serverText is a bootstrap configuration with what servers need. providers are in JSON.
func serverText(p *plane, providers string) string {
	if providers == "" {
		providers = "{}"
	}
	return fmt.Sprintf(`{"xds_servers":[{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}]}],"node":{"id":%q},
		"server_listener_resource_name_template":%q,"certificate_providers":%s}`, p.address, nodeID, template, providers)
}

// serverPool is a pool with such a configuration.
func serverPool(t *testing.T, p *plane, providers string) *xdsclient.Pool {
	t.Helper()
	return poolWith(t, serverText(p, providers), func(o *xdsclient.Options) {
		o.Client.ResourceTimeout = p.resourceTimeout
		o.Client.Backoff = func(int) time.Duration { return 20 * time.Millisecond }
	})
}

type testService struct {
	testgrpc.UnimplementedTestServiceServer
}

func (testService) EmptyCall(context.Context, *testgrpc.Empty) (*testgrpc.Empty, error) {
	return &testgrpc.Empty{}, nil
}

func (testService) FullDuplexCall(st grpc.BidiStreamingServer[testgrpc.StreamingOutputCallRequest, testgrpc.StreamingOutputCallResponse]) error {
	for {
		if _, err := st.Recv(); err != nil {
			return nil
		}
		if err := st.Send(&testgrpc.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// serveXDS starts a server on an IP address.
func serveXDS(t *testing.T, pool *xdsclient.Pool, ip string, opts ...grpc.ServerOption) *xdsServer {
	t.Helper()
	lis, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	return serveXDSOn(t, pool, lis, testService{}, opts...)
}

// serveXDSOn starts a server of a service on a listener.
func serveXDSOn(t *testing.T, pool *xdsclient.Pool, lis net.Listener, service testgrpc.TestServiceServer, opts ...grpc.ServerOption) *xdsServer {
	t.Helper()
	s := &xdsServer{t: t, modes: make(chan mode, 1000)}
	callback := xds.ServingModeCallback(func(addr net.Addr, args xds.ServingModeChangeArgs) {
		s.modes <- mode{addr.String(), args.Mode, args.Err}
	})
	gs, err := xds.NewGRPCServer(append(opts, xds.ClientPoolForTesting(pool), callback)...)
	if err != nil {
		t.Fatal(err)
	}
	s.gs = gs
	testgrpc.RegisterTestServiceServer(gs, service)
	s.addr = lis.Addr().String()
	_, port, _ := net.SplitHostPort(s.addr)
	n, _ := strconv.Atoi(port)
	s.port = uint32(n)
	served := make(chan error, 1)
	go func() { served <- gs.Serve(lis) }()
	t.Cleanup(func() {
		gs.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// wantMode waits for a mode.
func (s *xdsServer) wantMode(want connectivity.ServingMode) mode {
	s.t.Helper()
	for {
		select {
		case m := <-s.modes:
			if m.addr != s.addr || (m.err == nil) != (m.mode == connectivity.ServingModeServing) {
				s.t.Fatalf("%+v", m)
			}
			if m.mode == want {
				return m
			}
		case <-time.After(patience):
			s.t.Fatalf("mode %v does not come", want)
		}
	}
}

// name is that of the server's Listener.
func (s *xdsServer) name() string { return fmt.Sprintf(template, s.addr) }

// dial makes a plain channel to the server, at another of its IP addresses if ip is not "".
func (s *xdsServer) dial(ip string, opts ...grpc.DialOption) *grpc.ClientConn {
	s.t.Helper()
	if ip == "" {
		ip, _, _ = net.SplitHostPort(s.addr)
	}
	if len(opts) == 0 {
		opts = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("service.test")}
	}
	cc, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(ip, fmt.Sprint(s.port)), opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cc.Close() })
	return cc
}

// empty makes an RPC.
func empty(t *testing.T, cc *grpc.ClientConn, opts ...grpc.CallOption) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := testgrpc.NewTestServiceClient(cc).EmptyCall(ctx, &testgrpc.Empty{}, opts...)
	return err
}

// wantCode repeats an RPC until it ends as it shall.
func wantCode(t *testing.T, cc *grpc.ClientConn, want codes.Code) {
	t.Helper()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if last = empty(t, cc); status.Code(last) == want {
			return
		}
		cc.ResetConnectBackoff()
	}
	t.Fatalf("%v, want %v", last, want)
}

// filter makes one of a list.
func filter(name string, m proto.Message) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(m)}}
}

// inline makes a chain with routes of its own; rds one with those of a RouteConfiguration.
func inline(routes *routev3.RouteConfiguration, filters ...*hcmv3.HttpFilter) *listenerv3.FilterChain {
	return chainOf(&hcmv3.HttpConnectionManager{RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes}}, filters)
}

func rds(name string, filters ...*hcmv3.HttpFilter) *listenerv3.FilterChain {
	return chainOf(&hcmv3.HttpConnectionManager{RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{
		Rds: &hcmv3.Rds{RouteConfigName: name, ConfigSource: ads},
	}}, filters)
}

func chainOf(m *hcmv3.HttpConnectionManager, filters []*hcmv3.HttpFilter) *listenerv3.FilterChain {
	m.HttpFilters = append(filters, filter("router", &routerv3.Router{}))
	return &listenerv3.FilterChain{
		Filters: []*listenerv3.Filter{{Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: mustAny(m)}}},
	}
}

// listener makes the server's; the last chain is the default one.
func (s *xdsServer) listener(chains ...*listenerv3.FilterChain) *listenerv3.Listener {
	ip, _, _ := net.SplitHostPort(s.addr)
	last := len(chains) - 1
	return &listenerv3.Listener{
		Name: s.name(), FilterChains: chains[:last], DefaultFilterChain: chains[last],
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: ip, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: s.port},
		}}},
	}
}

// takes is a RouteConfiguration that takes RPCs with a prefix of the path.
func takes(name, prefix string) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{
		Domains: []string{"service.test", testcerts.ServerName},
		Routes: []*routev3.Route{{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: prefix}},
			Action: &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}},
		}},
	}}}
}

// everybody is a policy for all RPCs.
func everybody(action rbacconfigv3.RBAC_Action) *rbacv3.RBAC {
	return &rbacv3.RBAC{Rules: &rbacconfigv3.RBAC{Action: action, Policies: map[string]*rbacconfigv3.Policy{"everybody": {
		Permissions: []*rbacconfigv3.Permission{{Rule: &rbacconfigv3.Permission_Any{Any: true}}},
		Principals:  []*rbacconfigv3.Principal{{Identifier: &rbacconfigv3.Principal_Any{Any: true}}},
	}}}}
}

func hcmWithoutRouter() *hcmv3.HttpConnectionManager {
	return &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: takes("", "")},
		HttpFilters:    []*hcmv3.HttpFilter{filter("rbac", &rbacv3.RBAC{})},
	}
}
