// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
)

// serve is the control plane of other programs until it is interrupted: of xDS servers on the
// ports, on all addresses, and of clients that call "xds:///shop", which is the first of them.
// It prints the environment that they need.
func serve(ports []uint32) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p, err := startPlane()
	if err != nil {
		return err
	}
	defer p.server.Stop()
	for _, port := range ports {
		p.listeners = append(p.listeners, listenerOf(port))
	}
	first := place{"here", []*server{{port: ports[0]}}}
	if err := p.say(share{"shop-v1", 1, []place{first}}); err != nil {
		return err
	}
	fmt.Println("GRPC_XDS_BOOTSTRAP_CONFIG=" + strings.ReplaceAll(p.bootstrap(), "\n", ""))
	<-ctx.Done()
	return nil
}

// listenerOf has a server take all RPCs.
func listenerOf(port uint32) *listenerv3.Listener {
	const everywhere = "0.0.0.0"
	name := "server/" + net.JoinHostPort(everywhere, fmt.Sprint(port))
	routes := &routev3.RouteConfiguration{VirtualHosts: []*routev3.VirtualHost{{
		Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
			Action: &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}},
		}},
	}}}
	manager := wrap(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes},
		HttpFilters:    []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wrap(&routerv3.Router{})}}},
	})
	return &listenerv3.Listener{
		Name: name,
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: everywhere, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
		}}},
		DefaultFilterChain: &listenerv3.FilterChain{
			Filters: []*listenerv3.Filter{{Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager}}},
		},
	}
}
