// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	commonfaultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	providedv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/cluster_provided/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// unported is a name that nobody has, whose port is another each time.
var unported = regexp.MustCompile(`invalid:[0-9]+`)

// actionOf is the action of the first route.
func actionOf(s *xdsState) *routev3.RouteAction { return s.host().Routes[0].GetRoute() }

func weighted(weights ...uint32) *routev3.RouteAction_WeightedClusters {
	w := &routev3.WeightedCluster{}
	for i, n := range weights {
		w.Clusters = append(w.Clusters, &routev3.WeightedCluster_ClusterWeight{Name: string(rune('a' + i)), Weight: wrapperspb.UInt32(n)})
	}
	return &routev3.RouteAction_WeightedClusters{WeightedClusters: w}
}

// routeActions are what a route does with an RPC.
func routeActions() changes {
	action := func(f func(*routev3.RouteAction)) func(*xdsState) {
		return func(s *xdsState) { f(actionOf(s)) }
	}
	route := func(f func(*routev3.Route)) func(*xdsState) { return func(s *xdsState) { f(s.host().Routes[0]) } }
	split := func(w *routev3.RouteAction_WeightedClusters) func(*xdsState) {
		return action(func(a *routev3.RouteAction) { a.ClusterSpecifier = w })
	}
	duration := func(d *routev3.RouteAction_MaxStreamDuration) func(*xdsState) {
		return action(func(a *routev3.RouteAction) { a.MaxStreamDuration = d })
	}
	hash := func(list ...*routev3.RouteAction_HashPolicy) func(*xdsState) {
		return action(func(a *routev3.RouteAction) { a.HashPolicy = list })
	}
	retry := func(r *routev3.RetryPolicy) func(*xdsState) {
		return action(func(a *routev3.RouteAction) { a.RetryPolicy = r })
	}
	named := weighted(1, 0)
	named.WeightedClusters.Clusters[1].Name = ""
	headerWeight := weighted(1)
	headerWeight.WeightedClusters.Clusters[0].ClusterHeader = "x"
	total := weighted(1, 0)
	total.WeightedClusters.TotalWeight = wrapperspb.UInt32(100) //nolint:staticcheck // as it was
	return changes{
		"cluster b":     action(func(a *routev3.RouteAction) { a.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: "b"} }),
		"no specifier":  action(func(a *routev3.RouteAction) { a.ClusterSpecifier = nil }),
		"cluster empty": action(func(a *routev3.RouteAction) { a.ClusterSpecifier = &routev3.RouteAction_Cluster{} }),
		"cluster's header": action(func(a *routev3.RouteAction) {
			a.ClusterSpecifier = &routev3.RouteAction_ClusterHeader{ClusterHeader: "x"}
		}),
		"plugin unknown": action(func(a *routev3.RouteAction) {
			a.ClusterSpecifier = &routev3.RouteAction_ClusterSpecifierPlugin{ClusterSpecifierPlugin: "x"}
		}),
		"split 0 1": split(weighted(0, 1)), "split 1 0": split(weighted(1, 0)), "split 0 0": split(weighted(0, 0)), "split of none": split(weighted()),
		"split overflow": split(weighted(1<<32-1, 1)), "split unnamed": split(named), "split by header": split(headerWeight), "split with a total": split(total),
		"redirect": route(func(r *routev3.Route) { r.Action = &routev3.Route_Redirect{Redirect: &routev3.RedirectAction{}} }),
		"response": route(func(r *routev3.Route) {
			r.Action = &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 200}}
		}),
		"not forwarding": route(func(r *routev3.Route) {
			r.Action = &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}}
		}),
		"no action":            route(func(r *routev3.Route) { r.Action = nil }),
		"no match":             route(func(r *routev3.Route) { r.Match = nil }),
		"no routes":            func(s *xdsState) { s.host().Routes = nil },
		"no hosts":             func(s *xdsState) { s.routes.VirtualHosts = nil },
		"duration 1ns":         duration(&routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(1)}),
		"duration 0":           duration(&routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(0)}),
		"duration negative":    duration(&routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(-1)}),
		"duration bad":         duration(&routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: &durationpb.Duration{Seconds: 1, Nanos: -1}}),
		"grpc timeout 1ns":     duration(&routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(time.Hour), GrpcTimeoutHeaderMax: durationpb.New(1)}),
		"grpc timeout 0":       duration(&routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: durationpb.New(1), GrpcTimeoutHeaderMax: durationpb.New(0)}),
		"timeout of the route": action(func(a *routev3.RouteAction) { a.Timeout = durationpb.New(1) }),
		"prefix rewritten":     action(func(a *routev3.RouteAction) { a.PrefixRewrite = "/x" }),
		"host rewritten": action(func(a *routev3.RouteAction) {
			a.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: "x"}
		}),
		"mirrored": action(func(a *routev3.RouteAction) {
			a.RequestMirrorPolicies = []*routev3.RouteAction_RequestMirrorPolicy{{Cluster: "b"}}
		}),
		"hash of a header":      hash(&routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: "user"}}}),
		"hash of no header":     hash(&routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{}}}),
		"hash of a cookie":      hash(&routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_Cookie_{Cookie: &routev3.RouteAction_HashPolicy_Cookie{Name: "x"}}}),
		"hash of nothing":       hash(&routev3.RouteAction_HashPolicy{}),
		"hash of filter state":  hash(&routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_FilterState_{FilterState: &routev3.RouteAction_HashPolicy_FilterState{Key: "io.grpc.channel_id"}}}),
		"hash of another state": hash(&routev3.RouteAction_HashPolicy{PolicySpecifier: &routev3.RouteAction_HashPolicy_FilterState_{FilterState: &routev3.RouteAction_HashPolicy_FilterState{Key: "x"}}}),
		"retry of 0":            retry(&routev3.RetryPolicy{RetryOn: "unavailable", NumRetries: wrapperspb.UInt32(0)}),
		"retry on nothing":      retry(&routev3.RetryPolicy{NumRetries: wrapperspb.UInt32(2)}),
		"retry on the unknown":  retry(&routev3.RetryPolicy{RetryOn: "5xx,nonsense"}),
		"retry without a pause": retry(&routev3.RetryPolicy{RetryOn: "unavailable", RetryBackOff: &routev3.RetryPolicy_RetryBackOff{}}),
		"retry pause 0":         retry(&routev3.RetryPolicy{RetryOn: "unavailable", RetryBackOff: &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(0)}}),
		"retry pause reversed":  retry(&routev3.RetryPolicy{RetryOn: "unavailable", RetryBackOff: &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(2), MaxInterval: durationpb.New(1)}}),
		"retry pause max 0":     retry(&routev3.RetryPolicy{RetryOn: "unavailable", RetryBackOff: &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(2), MaxInterval: durationpb.New(0)}}),
		"config of an unknown filter": func(s *xdsState) {
			s.host().TypedPerFilterConfig = map[string]*anypb.Any{"x": plane.Any(wrapperspb.String("x"))}
		},
		"optional config of an unknown filter": func(s *xdsState) {
			s.host().TypedPerFilterConfig = map[string]*anypb.Any{"x": plane.Any(&routev3.FilterConfig{IsOptional: true, Config: plane.Any(wrapperspb.String("x"))})}
		},
	}
}

// xdsFaults are faults that a filter injects.
func xdsFaults() map[string]*faultv3.HTTPFault {
	all := &typev3.FractionalPercent{Numerator: 100}
	abort := func(a *faultv3.FaultAbort) *faultv3.HTTPFault { return &faultv3.HTTPFault{Abort: a} }
	grpcStatus := func(code uint32) *faultv3.HTTPFault {
		return abort(&faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_GrpcStatus{GrpcStatus: code}, Percentage: all})
	}
	httpStatus := func(code uint32) *faultv3.HTTPFault {
		return abort(&faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_HttpStatus{HttpStatus: code}, Percentage: all})
	}
	delay := func(d *commonfaultv3.FaultDelay) *faultv3.HTTPFault { return &faultv3.HTTPFault{Delay: d} }
	fixed := &commonfaultv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(time.Millisecond)}
	limited := grpcStatus(14)
	limited.MaxActiveFaults = wrapperspb.UInt32(0)
	return map[string]*faultv3.HTTPFault{
		"nothing": {}, "grpc 0": grpcStatus(0), "grpc 7": grpcStatus(7), "grpc 14": grpcStatus(14), "grpc 16": grpcStatus(16), "grpc 17": grpcStatus(17),
		"http 200": httpStatus(200), "http 400": httpStatus(400), "http 401": httpStatus(401), "http 403": httpStatus(403), "http 404": httpStatus(404),
		"http 429": httpStatus(429), "http 500": httpStatus(500), "http 503": httpStatus(503), "http 504": httpStatus(504), "http 99": httpStatus(99), "http 600": httpStatus(600),
		"abort without a type": abort(&faultv3.FaultAbort{Percentage: all}), "abort never": abort(&faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_GrpcStatus{GrpcStatus: 7}}),
		"abort by a header": abort(&faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_HeaderAbort_{HeaderAbort: &faultv3.FaultAbort_HeaderAbort{}}, Percentage: all}),
		"delay":             delay(&commonfaultv3.FaultDelay{FaultDelaySecifier: fixed, Percentage: all}),
		"delay by a header": delay(&commonfaultv3.FaultDelay{FaultDelaySecifier: &commonfaultv3.FaultDelay_HeaderDelay_{HeaderDelay: &commonfaultv3.FaultDelay_HeaderDelay{}}, Percentage: all}),
		"delay without":     delay(&commonfaultv3.FaultDelay{Percentage: all}),
		"no more faults":    limited,
	}
}

var faultHeaders = [][]string{
	nil,
	{"x-envoy-fault-abort-grpc-request", "5"},
	{"x-envoy-fault-abort-grpc-request", "0"},
	{"x-envoy-fault-abort-grpc-request", "99"},
	{"x-envoy-fault-abort-grpc-request", "x"},
	{"x-envoy-fault-abort-request", "404"},
	{"x-envoy-fault-abort-request", "200"},
	{"x-envoy-fault-abort-grpc-request", "5", "x-envoy-fault-abort-percentage", "0"},
	{"x-envoy-fault-abort-grpc-request", "5", "x-envoy-fault-abort-percentage", "100"},
	{"x-envoy-fault-abort-grpc-request", "5", "x-envoy-fault-abort-percentage", "x"},
	{"x-envoy-fault-abort-grpc-request", "5", "x-envoy-fault-abort-request-percentage", "0"},
	{"x-envoy-fault-abort-grpc-request", "5", "x-envoy-fault-abort-request-percentage", "x"},
	{"x-envoy-fault-delay-request", "1"},
	{"x-envoy-fault-delay-request", "-1"},
	{"x-envoy-fault-delay-request", "x"},
	{"x-envoy-fault-delay-request", "1", "x-envoy-fault-delay-request-percentage", "0"},
}

// aggregate adds a cluster that is made of others, to which RPCs then go.
func aggregate(children ...string) func(*xdsState) {
	return func(s *xdsState) {
		c := &clusterv3.Cluster{Name: "all", LbPolicy: clusterv3.Cluster_CLUSTER_PROVIDED, ClusterDiscoveryType: &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
			Name: "envoy.clusters.aggregate", TypedConfig: plane.Any(&aggregatev3.ClusterConfig{Clusters: children}),
		}}}
		s.clusters = append(s.clusters, c)
		actionOf(s).ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: "all"}
	}
}

// aggregatePolicies are aggregates with policies of their own.
func aggregatePolicies() changes {
	with := func(change func(*clusterv3.Cluster)) func(*xdsState) {
		return func(s *xdsState) {
			aggregate("a", "b")(s)
			change(s.clusters[len(s.clusters)-1])
		}
	}
	policies := func(list ...*anypb.Any) func(*xdsState) {
		return with(func(c *clusterv3.Cluster) {
			c.LbPolicy, c.LoadBalancingPolicy = clusterv3.Cluster_ROUND_ROBIN, &clusterv3.LoadBalancingPolicy{}
			for _, a := range list {
				c.LoadBalancingPolicy.Policies = append(c.LoadBalancingPolicy.Policies, &clusterv3.LoadBalancingPolicy_Policy{
					TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: "x", TypedConfig: a},
				})
			}
		})
	}
	return changes{
		"aggregate with maglev": with(func(c *clusterv3.Cluster) { c.LbPolicy = clusterv3.Cluster_MAGLEV }),
		"aggregate with a ring of murmur": with(func(c *clusterv3.Cluster) {
			c.LbPolicy = clusterv3.Cluster_RING_HASH
			c.LbConfig = &clusterv3.Cluster_RingHashLbConfig_{RingHashLbConfig: &clusterv3.Cluster_RingHashLbConfig{HashFunction: clusterv3.Cluster_RingHashLbConfig_MURMUR_HASH_2}}
		}),
		"aggregate with least request of 1": with(func(c *clusterv3.Cluster) {
			c.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
			c.LbConfig = &clusterv3.Cluster_LeastRequestLbConfig_{LeastRequestLbConfig: &clusterv3.Cluster_LeastRequestLbConfig{ChoiceCount: wrapperspb.UInt32(1)}}
		}),
		"aggregate with no policies":          policies(),
		"aggregate with an unknown policy":    policies(plane.Any(wrapperspb.String("x"))),
		"aggregate with a policy of garbage":  policies(&anypb.Any{TypeUrl: plane.Any(&roundrobinv3.RoundRobin{}).GetTypeUrl(), Value: []byte("\xff")}),
		"aggregate with the provided policy":  policies(plane.Any(&providedv3.ClusterProvided{})),
		"aggregate with a policy, or without": policies(plane.Any(wrapperspb.String("x")), plane.Any(&providedv3.ClusterProvided{}), plane.Any(&roundrobinv3.RoundRobin{})),
	}
}

// clusterKinds are clusters that are made of others, or found otherwise.
func clusterKinds() changes {
	roundRobin := func(f func(*xdsState)) func(*xdsState) {
		return func(s *xdsState) {
			f(s)
			s.clusters[len(s.clusters)-1].LbPolicy = clusterv3.Cluster_ROUND_ROBIN
		}
	}
	logical := func(change func(*endpointv3.ClusterLoadAssignment)) func(*xdsState) {
		return func(s *xdsState) {
			e := proto.CloneOf(s.endpoints[0])
			e.Endpoints[0].LbEndpoints[0].GetEndpoint().GetAddress().GetSocketAddress().Address = "localhost"
			change(e)
			s.clusters[0] = &clusterv3.Cluster{Name: "a", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS}, LoadAssignment: e}
		}
	}
	first := func(e *endpointv3.ClusterLoadAssignment) *endpointv3.LbEndpoint { return e.Endpoints[0].LbEndpoints[0] }
	return changes{
		"aggregate": roundRobin(aggregate("a", "b")), "aggregate reversed": roundRobin(aggregate("b", "a")), "aggregate provided": aggregate("a", "b"),
		"aggregate of none": roundRobin(aggregate()), "aggregate of itself": roundRobin(aggregate("all")), "aggregate twice": roundRobin(aggregate("b", "b")),
		"aggregate of one that is down": roundRobin(func(s *xdsState) {
			aggregate("a", "b")(s)
			s.endpoints[0] = plane.Endpoints("a", plane.Locality("z", 0, 1))
		}),
		"aggregate of one that is empty": roundRobin(func(s *xdsState) {
			aggregate("a", "b")(s)
			s.endpoints[0] = plane.Endpoints("a")
		}),
		"logical DNS": logical(func(*endpointv3.ClusterLoadAssignment) {}),
		"logical DNS, address": logical(func(e *endpointv3.ClusterLoadAssignment) {
			first(e).GetEndpoint().GetAddress().GetSocketAddress().Address = "127.0.0.1"
		}),
		"logical DNS, unknown": logical(func(e *endpointv3.ClusterLoadAssignment) {
			first(e).GetEndpoint().GetAddress().GetSocketAddress().Address = "no.such.invalid"
		}),
		"logical DNS, two": logical(func(e *endpointv3.ClusterLoadAssignment) {
			e.Endpoints[0].LbEndpoints = append(e.Endpoints[0].LbEndpoints, first(e))
		}),
		"logical DNS, localities": logical(func(e *endpointv3.ClusterLoadAssignment) { e.Endpoints = append(e.Endpoints, e.Endpoints[0]) }),
		"logical DNS, none":       logical(func(e *endpointv3.ClusterLoadAssignment) { e.Endpoints = nil }),
		"logical DNS, no address": logical(func(e *endpointv3.ClusterLoadAssignment) { first(e).HostIdentifier = nil }),
		"logical DNS, a resolver": logical(func(e *endpointv3.ClusterLoadAssignment) {
			first(e).GetEndpoint().GetAddress().GetSocketAddress().ResolverName = "x"
		}),
		"logical DNS, no port": logical(func(e *endpointv3.ClusterLoadAssignment) {
			first(e).GetEndpoint().GetAddress().GetSocketAddress().PortSpecifier = nil
		}),
		"breakers of 1": func(s *xdsState) {
			s.clusters[0].CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{
				{Priority: corev3.RoutingPriority_DEFAULT, MaxRequests: wrapperspb.UInt32(1)},
			}}
		},
	}
}

// xdsActionProbes say what becomes of an RPC.
func xdsActionProbes() []probe.Probe {
	var out []probe.Probe
	add := func(group, kind string, all changes) {
		for name, change := range all {
			// Requests to a cluster are counted for all channels of a process (gRFC A32).
			out = append(out, probe.Probe{Name: group + "/" + name, Alone: strings.Contains(name, "breakers"), Run: func(p *probe.P) {
				s := newXDSState(p)
				change(s)
				control := plane.Start(p, s.all()...)
				cc := xdsChannel(p, control)
				end := callOf(p.Context(), cc, "/a/b", "user", "x")
				if control.Verdict(p, kind) == "refused" {
					end = nodeText(end)
				}
				p.Printf("%s: %s", control.Verdict(p, kind), unported.ReplaceAllString(end, "invalid:PORT"))
				p.Printf("%v", cc.GetState())
			}})
		}
	}
	add("action", "RouteConfiguration", routeActions())
	add("kind", "Cluster", clusterKinds())
	add("kind", "Cluster", aggregatePolicies())
	for name, f := range xdsFaults() {
		out = append(out, probe.Probe{Name: "fault/" + name, Run: func(p *probe.P) {
			s := newXDSState(p)
			s.manager = plane.Manager(plane.Filter("fault", f))
			control := plane.Start(p, s.all()...)
			cc := xdsChannel(p, control)
			for _, headers := range faultHeaders {
				end := callOf(p.Context(), cc, "/a/b", headers...)
				if control.Verdict(p, "Listener") == "refused" {
					p.Printf("refused: %s", nodeText(end))
					return
				}
				p.Printf("%q %s", headers, end)
			}
		}})
	}
	return out
}
