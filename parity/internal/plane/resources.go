// SPDX-License-Identifier: Apache-2.0

package plane

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ADS says that a resource comes from the same stream.
var ADS = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}

// Filter makes an HTTP filter.
func Filter(name string, m proto.Message) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: Any(m)}}
}

// Manager makes the connection manager that asks for the routes "r".
func Manager(filters ...*hcmv3.HttpFilter) *hcmv3.HttpConnectionManager {
	return &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: "r", ConfigSource: ADS}},
		HttpFilters:    append(filters, Filter("router", &routerv3.Router{})),
	}
}

// Listener makes a client's.
func Listener(name string, m *hcmv3.HttpConnectionManager) *listenerv3.Listener {
	return &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: Any(m)}}
}

// To makes a route for all paths to a cluster.
func To(cluster string) *routev3.Route {
	return &routev3.Route{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}},
	}
}

// Routes makes the routes "r" for all hosts.
func Routes(routes ...*routev3.Route) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{{Domains: []string{"*"}, Routes: routes}}}
}

// Cluster makes one whose endpoints come by EDS.
func Cluster(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ADS},
	}
}

// Address is one on this host.
func Address(port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

// Endpoint makes one.
func Endpoint(port uint32) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: Address(port)}}}
}

// Locality makes one of some endpoints.
func Locality(zone string, priority uint32, ports ...uint32) *endpointv3.LocalityLbEndpoints {
	l := &endpointv3.LocalityLbEndpoints{
		Locality: &corev3.Locality{Zone: zone}, Priority: priority, LoadBalancingWeight: wrapperspb.UInt32(1),
	}
	for _, p := range ports {
		l.LbEndpoints = append(l.LbEndpoints, Endpoint(p))
	}
	return l
}

// Endpoints makes those of a cluster.
func Endpoints(cluster string, localities ...*endpointv3.LocalityLbEndpoints) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: cluster, Endpoints: localities}
}
