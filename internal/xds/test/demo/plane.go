// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// node is who the client says it is.
const node = "demo"

// plane is go-control-plane's server, for one service in two clusters.
type plane struct {
	cache   cache.SnapshotCache
	server  *grpc.Server
	address string
	version int
	// listeners are those of servers that the plane configures.
	listeners []types.Resource
}

func startPlane() (*plane, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &plane{cache: cache.NewSnapshotCache(false, cache.IDHash{}, nil), server: grpc.NewServer(), address: lis.Addr().String()}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(p.server, serverv3.NewServer(context.Background(), p.cache, nil))
	go p.server.Serve(lis) //nolint:errcheck // it ends with Stop
	return p, nil
}

// bootstrap is what an operator gives to programs.
func (p *plane) bootstrap() string {
	return fmt.Sprintf(`{
  "xds_servers": [{"server_uri": "passthrough:///%s", "channel_creds": [{"type": "insecure"}]}],
  "node": {"id": %q},
  "server_listener_resource_name_template": "server/%%s"
}`, p.address, node)
}

// share is a cluster with its part of the requests.
type share struct {
	cluster string
	weight  uint32
	places  []place // the best first
}

// place is a locality with its servers.
type place struct {
	zone    string
	servers []*server
}

// say has the service consist of the clusters.
func (p *plane) say(shares ...share) error {
	p.version++
	byType := map[resourcev3.Type][]types.Resource{resourcev3.ListenerType: append(p.listeners, service())}
	split := &routev3.WeightedCluster{}
	for _, s := range shares {
		split.Clusters = append(split.Clusters, &routev3.WeightedCluster_ClusterWeight{Name: s.cluster, Weight: wrapperspb.UInt32(s.weight)})
		byType[resourcev3.ClusterType] = append(byType[resourcev3.ClusterType], &clusterv3.Cluster{
			Name: s.cluster, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads},
		})
		byType[resourcev3.EndpointType] = append(byType[resourcev3.EndpointType], s.endpoints())
	}
	byType[resourcev3.RouteType] = []types.Resource{&routev3.RouteConfiguration{Name: "routes", VirtualHosts: []*routev3.VirtualHost{{
		Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_WeightedClusters{WeightedClusters: split},
			}},
		}},
	}}}}
	snapshot, err := cache.NewSnapshot(fmt.Sprint(p.version), byType)
	if err != nil {
		return err
	}
	return p.cache.SetSnapshot(context.Background(), node, snapshot)
}

var ads = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}

func service() *listenerv3.Listener {
	return &listenerv3.Listener{Name: "shop", ApiListener: &listenerv3.ApiListener{ApiListener: wrap(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: "routes", ConfigSource: ads}},
		HttpFilters:    []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wrap(&routerv3.Router{})}}},
	})}}
}

func (s *share) endpoints() *endpointv3.ClusterLoadAssignment {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: s.cluster}
	for priority, at := range s.places {
		l := &endpointv3.LocalityLbEndpoints{
			Locality: &corev3.Locality{Zone: at.zone}, Priority: uint32(priority), LoadBalancingWeight: wrapperspb.UInt32(1),
		}
		for _, to := range at.servers {
			l.LbEndpoints = append(l.LbEndpoints, &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{
					SocketAddress: &corev3.SocketAddress{
						Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: to.port},
					},
				}}},
			}})
		}
		out.Endpoints = append(out.Endpoints, l)
	}
	return out
}

func wrap(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err) // a message of ours can be serialized
	}
	return a
}
