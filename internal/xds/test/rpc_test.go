// SPDX-License-Identifier: Apache-2.0

package test

import (
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestA27RPCs(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a, b)))
	cc := channel(t, nil, p)
	call(t, cc)
	until(t, func() bool { n := shares(t, cc, 10); return n["a"] == 5 && n["b"] == 5 })
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, b)))
	until(t, func() bool { return shares(t, cc, 10)["b"] == 10 })
}

func TestA28TrafficSplit(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	split := to("")
	split.GetRoute().ClusterSpecifier = &routev3.RouteAction_WeightedClusters{WeightedClusters: &routev3.WeightedCluster{
		Clusters: []*routev3.WeightedCluster_ClusterWeight{
			{Name: "a", Weight: wrapperspb.UInt32(1)}, {Name: "b", Weight: wrapperspb.UInt32(3)},
		},
	}}
	p.set(listener("target", "r"), routes(split), cluster("a"), cluster("b"),
		assignment("a", local("z", 0, 1, a)), assignment("b", local("z", 0, 1, b)))
	cc := channel(t, nil, p)
	if n := shares(t, cc, 1000)["b"]; n < 650 || n > 850 {
		t.Errorf("%d of 1000 go to a cluster with 3/4 of the weight", n)
	}
}

func TestA28NoRoute(t *testing.T) {
	p := newPlane(t)
	p.set(listener("target", "r"), routes(to("c", func(r *routev3.Route) {
		r.Match.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/other/"}
	})), cluster("c"), assignment("c"))
	_, err := try(t.Context(), t, channel(t, nil, p))
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no matching route was found") {
		t.Error(err)
	}
}

func TestA56Failover(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("x", 0, 1, a), local("y", 1, 1, b)))
	cc := channel(t, nil, p)
	if got := call(t, cc); got != "a" {
		t.Errorf("%q, want the first priority", got)
	}
	a.server.Stop()
	becomes(t, cc, "b")
	a.start(t, a.address())
	becomes(t, cc, "a")
}

func aggregate(name string, children ...string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, LbPolicy: clusterv3.Cluster_CLUSTER_PROVIDED,
		ClusterDiscoveryType: &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
			Name: "envoy.clusters.aggregate", TypedConfig: mustAny(&aggregatev3.ClusterConfig{Clusters: children}),
		}},
	}
}

func dnsCluster(name string, port uint32) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
				Endpoint: &endpointv3.Endpoint{Address: address(port)},
			}}},
		}}},
	}
}

func TestA37AggregateAndDNS(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	p.set(listener("target", "r"), routes(to("all")), aggregate("all", "inner", "dns"), aggregate("inner", "eds"),
		cluster("eds"), dnsCluster("dns", b.port), assignment("eds", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	if got := call(t, cc); got != "a" {
		t.Errorf("%q, want the first cluster", got)
	}
	a.server.Stop()
	becomes(t, cc, "b")
	a.start(t, a.address())
	becomes(t, cc, "a")
	// A cluster of the aggregate that is not there is passed over (A74).
	p.set(listener("target", "r"), routes(to("all")), aggregate("all", "inner", "dns"), dnsCluster("dns", b.port))
	becomes(t, cc, "b")
}

func TestA37Cycle(t *testing.T) {
	p := newPlane(t)
	p.set(listener("target", "r"), routes(to("x")), aggregate("x", "y"), aggregate("y", "x"))
	_, err := try(t.Context(), t, channel(t, nil, p))
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `cluster "x"`) {
		t.Error(err)
	}
}

// TestA74NoTear has routes change to a cluster that comes later: no RPC notices.
func TestA74NoTear(t *testing.T) {
	p := newPlane(t)
	a, b := newBackend(t, "a"), newBackend(t, "b")
	p.set(listener("target", "r"), routes(to("a")), cluster("a"), assignment("a", local("z", 0, 1, a)))
	cc := channel(t, nil, p)
	call(t, cc)
	p.set(listener("target", "r"), routes(to("b")), cluster("a"), cluster("b"), assignment("a", local("z", 0, 1, a)), assignment("b", local("z", 0, 1, b)))
	for {
		got, err := try(t.Context(), t, cc)
		if err != nil {
			t.Fatal(err)
		}
		if got == "b" {
			break
		}
	}
}

// TestPublicResolver takes the way that programs take.
func TestPublicResolver(t *testing.T) {
	p := newPlane(t)
	a := newBackend(t, "a")
	p.set(listener("target", "r"), routes(to("c")), cluster("c"), assignment("c", local("z", 0, 1, a)))
	b, err := xds.NewXDSResolverWithConfigForTesting([]byte(bootstrapText(p)))
	if err != nil {
		t.Fatal(err)
	}
	call(t, channelTo(t, "xds:///target", b))
	if _, err := xds.NewXDSResolverWithConfigForTesting([]byte("{}")); err == nil {
		t.Error("no error without control planes")
	}
}

func TestA57NoListener(t *testing.T) {
	p := newPlane(t)
	p.resourceTimeout = time.Second
	p.set(listener("other", "r"))
	_, err := try(t.Context(), t, channel(t, nil, p))
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), `Listener "target"`) || !strings.Contains(err.Error(), nodeID) {
		t.Error(err)
	}
}
