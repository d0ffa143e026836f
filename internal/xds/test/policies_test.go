// SPDX-License-Identifier: Apache-2.0

package test

import (
	"context"
	"fmt"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	cswrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/orca"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// policies is a load_balancing_policy of one.
func policies(m proto.Message) *clusterv3.LoadBalancingPolicy {
	return &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
		TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: "policy", TypedConfig: mustAny(m)},
	}}}
}

func clusterWith(name string, policy proto.Message) *clusterv3.Cluster {
	c := cluster(name)
	c.LoadBalancingPolicy = policies(policy)
	return c
}

// byLocality is wrr_locality with a policy in each locality.
func byLocality(child proto.Message) proto.Message {
	return &wrrlocalityv3.WrrLocality{EndpointPickingPolicy: policies(child)}
}

// TestA48LeastRequest: RPCs keep away from the server that has more of them than the other.
func TestA48LeastRequest(t *testing.T) {
	old := cluster("c")
	old.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
	old.LbConfig = &clusterv3.Cluster_LeastRequestLbConfig_{LeastRequestLbConfig: &clusterv3.Cluster_LeastRequestLbConfig{ChoiceCount: wrapperspb.UInt32(10)}}
	for name, c := range map[string]*clusterv3.Cluster{
		"lb_policy":             old,
		"load_balancing_policy": clusterWith("c", byLocality(&leastv3.LeastRequest{ChoiceCount: wrapperspb.UInt32(10)})),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t)
			a, b := newBackend(t, "a"), newBackend(t, "b")
			p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a, b)))
			cc := channel(t, nil, p)
			until(t, func() bool { return len(shares(t, cc, 10)) == 2 })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var busy peer.Peer
			stream := talking(ctx, t, cc, grpc.Peer(&busy))
			from, ok := peer.FromContext(stream.Context())
			if !ok {
				t.Fatal("nothing is known of the stream's server")
			}
			name := map[string]string{a.address(): "a", b.address(): "b"}[from.Addr.String()]
			// One of ten choices falls on the other one, but for one in 1,000.
			if got := shares(t, cc, 60); got[name] > 10 {
				t.Errorf("%v, and %s is busy", got, name)
			}
		})
	}
}

// TestA58WeightedRoundRobin: RPCs go by what servers report of their load.
func TestA58WeightedRoundRobin(t *testing.T) {
	p := newPlane(t)
	reporting := func(name string, load float64) *backend {
		b := newBackend(t, name, orca.CallMetricsServerOption(nil))
		b.handle = func(ctx context.Context) error {
			m := orca.CallMetricsRecorderFromContext(ctx)
			m.SetQPS(100)
			m.SetApplicationUtilization(load)
			return nil
		}
		return b
	}
	a, b := reporting("a", 0.1), reporting("b", 0.9)
	c := clusterWith("c", byLocality(&cswrrv3.ClientSideWeightedRoundRobin{
		BlackoutPeriod: durationpb.New(0), WeightUpdatePeriod: durationpb.New(100 * time.Millisecond),
	}))
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a, b)))
	cc := channel(t, nil, p)
	until(t, func() bool {
		got := shares(t, cc, 100)
		return got["b"] > 0 && got["a"] > 5*got["b"] // nine times as often
	})
}

// TestA62PickFirst: the first address that works has all RPCs.
func TestA62PickFirst(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	c := clusterWith("c", &pickfirstv3.PickFirst{})
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, a, b)))
	cc := channel(t, nil, p)
	if got := shares(t, cc, 20); got["a"] != 20 {
		t.Errorf("%v", got)
	}
	a.server.Stop()
	becomes(t, cc, "b")
}

// TestA62A113Shuffle: a shuffled list begins with each address, the more often the more weight it
// has.
func TestA62A113Shuffle(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	c := clusterWith("c", &pickfirstv3.PickFirst{ShuffleAddressList: true})
	first := func(weightOfA uint32) map[string]int {
		l := local("z", 0, 1, a, b)
		l.LbEndpoints[0].LoadBalancingWeight = wrapperspb.UInt32(weightOfA)
		l.LbEndpoints[1].LoadBalancingWeight = wrapperspb.UInt32(1)
		p.set(listener("target", "r"), routes(to("c")), c, assignment("c", l))
		got := make(map[string]int)
		for range 40 {
			cc := channel(t, nil, p)
			got[call(t, cc)]++
			cc.Close()
		}
		return got
	}
	if got := first(1); got["a"] < 5 || got["b"] < 5 {
		t.Errorf("of the same weight: %v", got)
	}
	if got := first(100); got["a"] < 30 {
		t.Errorf("one has 100 times the weight: %v", got)
	}
}

// TestA91Metrics: what outlier detection does is counted.
func TestA91Metrics(t *testing.T) {
	p := newPlane(t)
	bad, b := newBackend(t, "bad"), newBackend(t, "b")
	bad.handle = func(context.Context) error { return status.Error(codes.Internal, "bad") }
	c := cluster("c")
	c.OutlierDetection = &clusterv3.OutlierDetection{
		Interval: durationpb.New(50 * time.Millisecond), MaxEjectionPercent: wrapperspb.UInt32(50),
		EnforcingSuccessRate: wrapperspb.UInt32(0), EnforcingFailurePercentage: wrapperspb.UInt32(100),
		FailurePercentageThreshold: wrapperspb.UInt32(50), FailurePercentageMinimumHosts: wrapperspb.UInt32(1),
		FailurePercentageRequestVolume: wrapperspb.UInt32(1),
	}
	p.set(listener("target", "r"), routes(to("c")), c, assignment("c", local("z", 0, 1, bad, b)))
	r := &recorder{counts: map[string]int64{}}
	cc := channel(t, []grpc.DialOption{grpc.WithStatsHandler(r)}, p)
	until(t, func() bool {
		_, _ = try(t.Context(), t, cc, grpc.WaitForReady(true))
		return r.count("grpc.lb.outlier_detection.ejections_enforced xds:///target") > 0
	})
}

// TestA94SubchannelMetrics: connections are counted, of the cluster and locality they belong to.
func TestA94SubchannelMetrics(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	r := &recorder{counts: map[string]int64{}}
	call(t, channel(t, []grpc.DialOption{grpc.WithStatsHandler(r)}, p))
	const name = "grpc.subchannel.connection_attempts_succeeded xds:///target"
	if got := r.count(name); got != 1 {
		t.Errorf("%d connections", got)
	}
	want := []string{"xds:///target", "c", `{region="", zone="z", sub_zone=""}`}
	if got := r.labelsOf(name); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// lookup is an RLS server, which names the cluster that a header names.
type lookup struct {
	lookuppb.UnimplementedRouteLookupServiceServer
}

func (lookup) RouteLookup(_ context.Context, r *lookuppb.RouteLookupRequest) (*lookuppb.RouteLookupResponse, error) {
	return &lookuppb.RouteLookupResponse{Targets: []string{"cluster-" + r.GetKeyMap()["shop"]}}, nil
}

// TestRLSPlugin: a route leaves the choice of the cluster to a route lookup service; clusters are
// asked for as it names them (A74).
func TestRLSPlugin(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	service := &backend{}
	service.start(t, "127.0.0.1:0", func(s *grpc.Server) { lookuppb.RegisterRouteLookupServiceServer(s, lookup{}) })
	inner, err := proto.Marshal(&lookuppb.RouteLookupConfig{
		LookupService:   "passthrough:///" + service.address(),
		GrpcKeybuilders: []*lookuppb.GrpcKeyBuilder{{Names: []*lookuppb.GrpcKeyBuilder_Name{{Service: "grpc.testing.TestService"}}, Headers: []*lookuppb.NameMatcher{{Key: "shop", Names: []string{"shop"}}}}},
		CacheSizeBytes:  1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := routes(to("", func(r *routev3.Route) {
		r.GetRoute().ClusterSpecifier = &routev3.RouteAction_ClusterSpecifierPlugin{ClusterSpecifierPlugin: "rls"}
	}))
	r.ClusterSpecifierPlugins = []*routev3.ClusterSpecifierPlugin{{Extension: &corev3.TypedExtensionConfig{
		Name: "rls", TypedConfig: &anypb.Any{
			TypeUrl: "type.googleapis.com/grpc.lookup.v1.RouteLookupClusterSpecifier",
			Value:   protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner),
		},
	}}}
	p.set(listener("target", "r"), r, cluster("cluster-a"), cluster("cluster-b"),
		assignment("cluster-a", local("z", 0, 1, a)), assignment("cluster-b", local("z", 0, 1, b)))
	cc := channel(t, nil, p)
	for _, want := range []string{"a", "b", "a"} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "shop", want)
		if got, err := try(ctx, t, cc, grpc.WaitForReady(true)); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	_, nacks := p.counts()
	if len(nacks) > 0 {
		t.Error(nacks)
	}
}

// TestA115NoChildIsKept: a priority that the control plane takes away loses its connections at
// once.
func TestA115NoChildIsKept(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("x", 0, 1, a), local("y", 1, 1, b)))
	cc := channel(t, nil, p)
	call(t, cc)
	a.server.Stop()
	becomes(t, cc, "b")
	c := newBackend(t, "c")
	ended := make(chan struct{})
	stream, err := testpb.NewTestServiceClient(cc).FullDuplexCall(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, c)))
	becomes(t, cc, "c")
	// A connection that is given up ends when its last stream does: none is left open for new
	// ones.
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the stream does not end")
	}
	stopped := make(chan struct{})
	go func() {
		b.server.GracefulStop() // it waits for connections
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(patience):
		t.Error("the connection stays")
	}
}

// weighted is an endpoint with a weight.
func weighted(b *backend, weight uint32) *endpointv3.LbEndpoint {
	e := local("", 0, 1, b).LbEndpoints[0]
	e.LoadBalancingWeight = wrapperspb.UInt32(weight)
	return e
}

// TestA42WeightsOfEndpoints: an endpoint's share of the ring is that of its weight.
func TestA42WeightsOfEndpoints(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	l := local("z", 0, 1)
	l.LbEndpoints = []*endpointv3.LbEndpoint{weighted(a, 9), weighted(b, 1)}
	p.set(listener("target", "r"), routes(to("c")), ringCluster("c"), assignment("c", l))
	cc := channel(t, nil, p)
	until(t, func() bool { return len(shares(t, cc, 40)) == 2 }) // both are connected
	if got := shares(t, cc, 200); got["a"] < 140 || got["a"] == 200 {
		t.Errorf("%v, want nine to one", got)
	}
}
