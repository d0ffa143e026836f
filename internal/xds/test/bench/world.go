// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	node     = "bench"
	clusters = 10
)

// world is the control plane and the servers.
type world struct {
	testpb.UnimplementedTestServiceServer
	cache   cache.SnapshotCache
	plane   *grpc.Server
	address string
	version int
	streams atomic.Int64
	taken   atomic.Int64 // the version of the endpoints that a client has taken last
	lazy    bool         // clusters are those of ring_hash, which connects when an RPC needs it

	backend *grpc.Server // of all endpoints
	ports   []uint32
	conns   atomic.Int64

	mu    sync.Mutex
	fresh []*fresh
}

// fresh is an endpoint that begins while a client is at work.
type fresh struct {
	port   uint32
	called chan struct{}
	once   sync.Once
	server *grpc.Server
	testpb.UnimplementedTestServiceServer
}

// EmptyCall implements the service.
func (f *fresh) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	f.once.Do(func() { close(f.called) })
	return &testpb.Empty{}, nil
}

// EmptyCall implements the service.
func (w *world) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

func newWorld(endpoints int) (*world, error) {
	w := &world{cache: cache.NewSnapshotCache(false, cache.IDHash{}, nil), plane: grpc.NewServer()}
	w.backend = grpc.NewServer(grpc.StatsHandler(counter{w}))
	testpb.RegisterTestServiceServer(w.backend, w)
	for range endpoints {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		w.ports = append(w.ports, uint32(lis.Addr().(*net.TCPAddr).Port))
		go w.backend.Serve(lis) //nolint:errcheck // it ends with Stop
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.address = lis.Addr().String()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(w.plane, serverv3.NewServer(context.Background(), w.cache, serverv3.CallbackFuncs{
		StreamOpenFunc: func(context.Context, int64, string) error {
			w.streams.Add(1)
			return nil
		},
		StreamRequestFunc: func(_ int64, r *discoveryv3.DiscoveryRequest) error {
			if v, err := strconv.ParseInt(r.GetVersionInfo(), 10, 64); err == nil && r.GetTypeUrl() == resourcev3.EndpointType {
				w.taken.Store(v)
			}
			return nil
		},
	}))
	go w.plane.Serve(lis) //nolint:errcheck // it ends with Stop
	return w, nil
}

func (w *world) openedStreams() int64 { return w.streams.Load() }

func (w *world) stop() {
	w.plane.Stop()
	w.backend.Stop()
	for _, f := range w.fresh {
		f.server.Stop()
	}
}

func (w *world) bootstrap() string {
	return fmt.Sprintf(`{"xds_servers":[{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}]}],"node":{"id":%q}}`, w.address, node)
}

// newServer starts an endpoint.
func (w *world) newServer() (*fresh, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &fresh{port: uint32(lis.Addr().(*net.TCPAddr).Port), called: make(chan struct{}), server: grpc.NewServer()}
	testpb.RegisterTestServiceServer(f.server, f)
	go f.server.Serve(lis) //nolint:errcheck // it ends with Stop
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = append(w.fresh, f)
	return f, nil
}

// await waits until so many connections are open.
func (w *world) await(conns int64) error {
	for end := time.Now().Add(time.Minute); w.conns.Load() < conns; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("%d connections, not %d", w.conns.Load(), conns)
		}
	}
	return nil
}

// awaitTaken waits until a client has taken what was said last.
func (w *world) awaitTaken() error {
	for end := time.Now().Add(time.Minute); w.taken.Load() != int64(w.version); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("version %d is the client's, not %d", w.taken.Load(), w.version)
		}
	}
	return nil
}

// counter counts connections.
type counter struct{ w *world }

func (c counter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (c counter) HandleRPC(context.Context, stats.RPCStats)                       {}
func (c counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

func (c counter) HandleConn(_ context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.w.conns.Add(1)
	case *stats.ConnEnd:
		c.w.conns.Add(-1)
	}
}

var ads = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}

// say has each cluster have so many endpoints, and the first one more if there are any.
func (w *world) say(each int, more ...*fresh) error {
	w.version++
	byType := map[resourcev3.Type][]types.Resource{}
	vh := &routev3.VirtualHost{Domains: []string{"*"}}
	for c := range clusters {
		name := strconv.Itoa(c)
		vh.Routes = append(vh.Routes, &routev3.Route{
			Match: &routev3.RouteMatch{
				PathSpecifier: &routev3.RouteMatch_Prefix{},
				Headers: []*routev3.HeaderMatcher{{Name: "cluster", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{
					StringMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name}},
				}}},
			},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name}}},
		})
		policy := clusterv3.Cluster_ROUND_ROBIN
		if w.lazy {
			policy = clusterv3.Cluster_RING_HASH
		}
		byType[resourcev3.ClusterType] = append(byType[resourcev3.ClusterType], &clusterv3.Cluster{
			Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}, LbPolicy: policy,
			EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads},
		})
		l := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Zone: "z"}, LoadBalancingWeight: wrapperspb.UInt32(1)}
		of := each
		if c > 0 && each == 99 {
			of = 100 // the first alone changes
		}
		for _, port := range w.ports[100*c : 100*c+of] {
			l.LbEndpoints = append(l.LbEndpoints, endpoint(port))
		}
		if c == 0 {
			for _, f := range more {
				l.LbEndpoints = append(l.LbEndpoints, endpoint(f.port))
			}
		}
		byType[resourcev3.EndpointType] = append(byType[resourcev3.EndpointType], &endpointv3.ClusterLoadAssignment{
			ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{l},
		})
	}
	byType[resourcev3.RouteType] = []types.Resource{&routev3.RouteConfiguration{Name: "routes", VirtualHosts: []*routev3.VirtualHost{vh}}}
	byType[resourcev3.ListenerType] = []types.Resource{&listenerv3.Listener{Name: "shop", ApiListener: &listenerv3.ApiListener{ApiListener: wrap(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: "routes", ConfigSource: ads}},
		HttpFilters:    []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: wrap(&routerv3.Router{})}}},
	})}}}
	snapshot, err := cache.NewSnapshot(strconv.Itoa(w.version), byType)
	if err != nil {
		return err
	}
	return w.cache.SetSnapshot(context.Background(), node, snapshot)
}

func endpoint(port uint32) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
		}}},
	}}}
}

func wrap(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err) // a message of ours can be serialized
	}
	return a
}
