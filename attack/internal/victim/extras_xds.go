// SPDX-License-Identifier: Apache-2.0

//go:build extras

package victim

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/xds"
	"google.golang.org/grpc/xds/csds"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc/attack/internal/orders"
)

// The server of package xds has a control plane in its own process, which tells it once what to serve:
// a Listener with a filter chain for each of some networks, and routes.
const (
	chains = 250
	routes = 200
)

// serveXDS serves on lis until the process ends.
func serveXDS(lis net.Listener, o orders.Serve, options []grpc.ServerOption) error {
	plane, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	control := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(control, controlPlane{lis.Addr().(*net.TCPAddr)})
	go func() { _ = control.Serve(plane) }()
	path := os.Getenv("GRPC_XDS_BOOTSTRAP")
	if path == "" {
		return errors.New("a server of package xds needs GRPC_XDS_BOOTSTRAP: what the attack's kind says")
	}
	bootstrap := fmt.Sprintf(`{"xds_servers":[{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}],"server_features":["xds_v3"]}],
		"node":{"id":"victim"},"server_listener_resource_name_template":"%%s"}`, plane.Addr())
	if err := os.WriteFile(path, []byte(bootstrap), 0o600); err != nil {
		return err
	}
	serving := make(chan struct{}, 1)
	server, err := xds.NewGRPCServer(append(options, xds.ServingModeCallback(func(net.Addr, xds.ServingModeChangeArgs) {
		select {
		case serving <- struct{}{}:
		default:
		}
	}))...)
	if err != nil {
		return err
	}
	server.RegisterService(service(o.HandedOver), nil)
	status, err := csds.NewClientStatusDiscoveryServer()
	if err != nil {
		return err
	}
	statusv3.RegisterClientStatusDiscoveryServiceServer(server, status)
	go func() { _ = server.Serve(lis) }()
	<-serving
	return nil
}

// controlPlane answers each request for Listeners once.
type controlPlane struct{ addr *net.TCPAddr }

func (p controlPlane) DeltaAggregatedResources(discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return errors.ErrUnsupported
}

func (p controlPlane) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	told := false
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		if told || len(req.GetResourceNames()) == 0 {
			continue
		}
		told = true
		resource, err := p.listener(req.GetResourceNames()[0])
		if err != nil {
			return err
		}
		err = stream.Send(&discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "1", TypeUrl: req.GetTypeUrl(), Resources: []*anypb.Any{resource}})
		if err != nil {
			return err
		}
	}
}

// listener has a filter chain for all, and others for networks that nobody comes from.
func (p controlPlane) listener(name string) (*anypb.Any, error) {
	manager, err := manager()
	if err != nil {
		return nil, err
	}
	filters := []*listenerv3.Filter{{Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager}}}
	l := &listenerv3.Listener{
		Name: name,
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: p.addr.IP.String(), PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(p.addr.Port)},
		}}},
		DefaultFilterChain: &listenerv3.FilterChain{Name: "default", Filters: filters},
	}
	for i := range chains {
		l.FilterChains = append(l.FilterChains, &listenerv3.FilterChain{
			Name: strconv.Itoa(i), Filters: filters,
			FilterChainMatch: &listenerv3.FilterChainMatch{SourcePrefixRanges: []*corev3.CidrRange{{
				AddressPrefix: fmt.Sprintf("10.%d.0.0", i), PrefixLen: wrapperspb.UInt32(16),
			}}},
		})
	}
	return anypb.New(l)
}

// manager has routes that nothing matches, and one that all else does.
func manager() (*anypb.Any, error) {
	router, err := anypb.New(&routerv3.Router{})
	if err != nil {
		return nil, err
	}
	host := &routev3.VirtualHost{Name: "all", Domains: []string{"*"}}
	for i := range routes {
		host.Routes = append(host.Routes, served(fmt.Sprintf("/no.Such%d/", i)))
	}
	host.Routes = append(host.Routes, served("/"))
	m := &managerv3.HttpConnectionManager{
		RouteSpecifier: &managerv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{host}}},
		HttpFilters:    []*managerv3.HttpFilter{{Name: "router", ConfigType: &managerv3.HttpFilter_TypedConfig{TypedConfig: router}}},
	}
	return anypb.New(proto.Message(m))
}

func served(prefix string) *routev3.Route {
	return &routev3.Route{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: prefix}},
		Action: &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}},
	}
}
