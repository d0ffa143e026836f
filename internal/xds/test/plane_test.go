// SPDX-License-Identifier: Apache-2.0

// Package test runs the xDS client against go-control-plane's server, over real sockets.
package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// nodeID is who the client says it is.
const nodeID = "node"

// plane is a control plane: go-control-plane's server with its snapshot cache, or a linear one for
// each type.
type plane struct {
	// resourceTimeout is that of the clients that use it. Tests of what it lacks lower it: otherwise a resource would
	// count as missing on a machine that is busy.
	resourceTimeout time.Duration

	t       *testing.T
	address string
	cache   cache.SnapshotCache
	linear  *linearCaches // nil: cache is used
	loads   loadServer
	options []grpc.ServerOption

	mu      sync.Mutex
	version int
	server  *grpc.Server
	streams int
	last    int64 // the id of the last stream
	open    int   // of the streams
	nacks   []string
	asked   map[string][]string // the names of the last request, by type
	acks    map[string]bool     // the types that this stream has got, and taken
	// requests counts what clients have sent.
	requests int
	node     *corev3.Node
	tokens   []string // "authorization" of the last stream
}

func newPlane(t *testing.T, options ...grpc.ServerOption) *plane {
	t.Helper()
	p := &plane{t: t, options: options, address: "127.0.0.1:0", resourceTimeout: patience, cache: cache.NewSnapshotCache(false, cache.IDHash{}, nil)}
	p.start()
	t.Cleanup(p.stop)
	return p
}

// start serves on the address that it had before.
func (p *plane) start() {
	p.t.Helper()
	lis, err := testutils.ListenAgain(p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.address = lis.Addr().String()
	gs := grpc.NewServer(p.options...)
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {})
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(gs, serverv3.NewServer(ctx, p.caches(), serverv3.CallbackFuncs{
		StreamOpenFunc: func(ctx context.Context, id int64, _ string) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.streams++
			p.open++
			p.last = id
			p.acks = make(map[string]bool)
			p.tokens = metadata.ValueFromIncomingContext(ctx, "authorization")
			return nil
		},
		StreamClosedFunc: func(int64, *corev3.Node) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.open--
		},
		StreamRequestFunc: func(id int64, r *discoveryv3.DiscoveryRequest) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.requests++
			if p.asked == nil {
				p.asked = make(map[string][]string)
			}
			p.asked[r.GetTypeUrl()] = r.GetResourceNames()
			if r.GetResponseNonce() != "" && id == p.last { // a stream before may say so late
				p.acks[r.GetTypeUrl()] = true
			}
			if r.GetNode() != nil {
				p.node = r.GetNode()
			}
			if r.GetErrorDetail() != nil {
				p.nacks = append(p.nacks, r.GetErrorDetail().GetMessage())
			}
			return nil
		},
	}))
	lrsv3.RegisterLoadReportingServiceServer(gs, &p.loads)
	p.mu.Lock()
	p.server = gs
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		_ = gs.Serve(lis)
	}()
}

func (p *plane) caches() cache.Cache {
	if p.linear != nil {
		return p.linear
	}
	return p.cache
}

func (p *plane) stop() {
	p.mu.Lock()
	gs := p.server
	p.mu.Unlock()
	gs.Stop()
}

func (p *plane) counts() (streams int, nacks []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.streams, append([]string(nil), p.nacks...)
}

// received is how many requests there were.
func (p *plane) received() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// alone reports whether the streams before the last one have ended.
func (p *plane) alone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open == 1
}

// answered reports whether the last stream has brought all types of resources.
func (p *plane) answered() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.acks) == 4
}

// names are those of the RouteConfigurations that a client asks for.
func (p *plane) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[resourcev3.RouteType]
}

func (p *plane) authorization() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tokens, ",")
}

// set makes these all the resources that there are.
func (p *plane) set(resources ...types.Resource) {
	p.t.Helper()
	byType := map[resourcev3.Type][]types.Resource{
		resourcev3.ListenerType: {}, resourcev3.RouteType: {}, resourcev3.ClusterType: {}, resourcev3.EndpointType: {},
	}
	for _, r := range resources {
		a, err := anypb.New(r)
		if err != nil {
			p.t.Fatal(err)
		}
		byType[a.GetTypeUrl()] = append(byType[a.GetTypeUrl()], r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	snapshot, err := cache.NewSnapshot(fmt.Sprint(p.version), byType)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cache.SetSnapshot(context.Background(), nodeID, snapshot); err != nil {
		p.t.Fatal(err)
	}
}

// loadServer keeps the load reports that it gets.
type loadServer struct {
	lrsv3.UnimplementedLoadReportingServiceServer
	mu      sync.Mutex
	reports chan *lrsv3.LoadStatsRequest
}

func (s *loadServer) StreamLoadStats(stream lrsv3.LoadReportingService_StreamLoadStatsServer) error {
	s.mu.Lock()
	reports := s.reports
	s.mu.Unlock()
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if err := stream.Send(loadInterval()); err != nil {
		return err
	}
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		select {
		case reports <- r:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// bootstrapText is a configuration whose channels use the planes in turn.
func bootstrapText(planes ...*plane) string {
	servers := ""
	for i, p := range planes {
		if i > 0 {
			servers += ","
		}
		servers += fmt.Sprintf(`{"server_uri":"passthrough:///%s","channel_creds":[{"type":"insecure"}]}`, p.address)
	}
	return `{"xds_servers":[` + servers + `],"node":{"id":"` + nodeID + `"}}`
}

// pool returns one whose clients use the planes in turn.
func pool(t *testing.T, planes ...*plane) *xdsclient.Pool {
	t.Helper()
	b, err := bootstrap.Parse([]byte(bootstrapText(planes...)), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := xdsclient.Options{Bootstrap: b, Features: xdsclient.Features(), Filters: xdsclient.Filters()}
	o.Client.ResourceTimeout = planes[0].resourceTimeout
	o.Client.Backoff = func(int) time.Duration { return 20 * time.Millisecond }
	return xdsclient.NewPool(o)
}

func client(t *testing.T, p *xdsclient.Pool) *xdsclient.Client {
	t.Helper()
	c, release, err := p.Client("xds:///target", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		release()
		c.Close()
	})
	return c
}

// event is what a watcher heard.
type event[T any] struct {
	value   T
	err     error
	ambient bool
}

// watcher passes on what it hears.
type watcher[T any] struct {
	t      *testing.T
	events chan event[T]
}

func newWatcher[T any](t *testing.T) *watcher[T] {
	return &watcher[T]{t: t, events: make(chan event[T], 1000)}
}

func (w *watcher[T]) Changed(v T, err error) { w.events <- event[T]{value: v, err: err} }
func (w *watcher[T]) Ambient(err error)      { w.events <- event[T]{err: err, ambient: true} }

// patience bounds how long something may take that will happen.
const patience = 30 * time.Second

var errLate = errors.New("nothing was heard")

// next returns the next event.
func (w *watcher[T]) next() event[T] {
	w.t.Helper()
	select {
	case e := <-w.events:
		return e
	case <-time.After(patience):
		w.t.Fatal(errLate)
		return event[T]{}
	}
}

// value wants the next event to bring one.
func (w *watcher[T]) value() T {
	w.t.Helper()
	e := w.next()
	if e.err != nil || e.ambient {
		w.t.Fatalf("heard %v, ambient %t", e.err, e.ambient)
	}
	return e.value
}

func mustAny(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return a
}

var ads = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}

func listener(name, route string) *listenerv3.Listener {
	return &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: mustAny(&hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: route, ConfigSource: ads}},
		HttpFilters:    []*hcmv3.HttpFilter{{Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(&routerv3.Router{})}}},
	})}}
}

func route(name, cluster string) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{
		Domains: []string{"*"},
		Routes: []*routev3.Route{{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}},
		}},
	}}}
}

func cluster(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads},
	}
}

func badCluster(name string) *clusterv3.Cluster {
	c := cluster(name)
	c.LbPolicy = clusterv3.Cluster_RANDOM
	return c
}

func endpoints(name string, ports ...uint32) *endpointv3.ClusterLoadAssignment {
	l := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Zone: "z"}, LoadBalancingWeight: wrapperspb.UInt32(1)}
	for _, p := range ports {
		l.LbEndpoints = append(l.LbEndpoints, &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
				Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: p},
			}}},
		}}})
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{l}}
}

// mustStruct makes filter metadata of one key with one field.
func mustStruct(key, field, value string) map[string]*structpb.Struct {
	return map[string]*structpb.Struct{key: {Fields: map[string]*structpb.Value{field: structpb.NewStringValue(value)}}}
}
