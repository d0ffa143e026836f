// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// changes are what a control plane may say otherwise, by name.
type changes map[string]func(*xdsState)

func listenerChanges() changes {
	manager := func(f func(*hcmv3.HttpConnectionManager)) func(*xdsState) {
		return func(s *xdsState) { f(s.manager) }
	}
	return changes{
		"as it is":       func(*xdsState) {},
		"no ApiListener": func(s *xdsState) { s.listener = &listenerv3.Listener{Name: "svc"} },
		"garbage for a manager": func(s *xdsState) {
			s.listener = plane.Listener("svc", s.manager)
			s.listener.ApiListener.ApiListener.Value = []byte("\xff")
		},
		"another type for a manager": func(s *xdsState) {
			s.listener = plane.Listener("svc", s.manager)
			s.listener.ApiListener.ApiListener = plane.Any(wrapperspb.String("x"))
		},
		"with an address": func(s *xdsState) {
			s.listener = plane.Listener("svc", s.manager)
			s.listener.Address = plane.Address(1)
		},
		"routes of its own": manager(func(m *hcmv3.HttpConnectionManager) {
			m.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: plane.Routes(plane.To("b"))}
		}),
		"bad routes of its own": manager(func(m *hcmv3.HttpConnectionManager) {
			r := plane.Routes(plane.To("b"))
			r.VirtualHosts[0].Routes[0].Match = nil
			m.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: r}
		}),
		"no routes": manager(func(m *hcmv3.HttpConnectionManager) { m.RouteSpecifier = nil }),
		"scoped routes": manager(func(m *hcmv3.HttpConnectionManager) {
			m.RouteSpecifier = &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{}}
		}),
		"routes unnamed": manager(func(m *hcmv3.HttpConnectionManager) { m.GetRds().RouteConfigName = "" }),
		"routes of a file": manager(func(m *hcmv3.HttpConnectionManager) {
			m.GetRds().ConfigSource = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Path{Path: "/x"}} //nolint:staticcheck // as it was
		}),
		"routes of itself": manager(func(m *hcmv3.HttpConnectionManager) {
			m.GetRds().ConfigSource = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}}
		}),
		"routes without a source": manager(func(m *hcmv3.HttpConnectionManager) { m.GetRds().ConfigSource = nil }),
		"trusted hops":            manager(func(m *hcmv3.HttpConnectionManager) { m.XffNumTrustedHops = 1 }),
		"original IP": manager(func(m *hcmv3.HttpConnectionManager) {
			m.OriginalIpDetectionExtensions = []*corev3.TypedExtensionConfig{{Name: "x"}}
		}),
		"max duration": manager(func(m *hcmv3.HttpConnectionManager) {
			m.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{MaxStreamDuration: durationpb.New(1)}
		}),
		"garbage": func(s *xdsState) {
			s.more = append(s.more, plane.Wrapped{Message: &anypb.Any{TypeUrl: plane.Any(&listenerv3.Listener{}).GetTypeUrl(), Value: []byte("\xff")}, Name: "svc"})
			s.listener = plane.Listener("other", s.manager)
		},
	}
}

// filterChanges are those of a listener's HTTP filters.
func filterChanges() changes {
	filters := func(list ...*hcmv3.HttpFilter) func(*xdsState) {
		return func(s *xdsState) { s.manager.HttpFilters = list }
	}
	router := plane.Filter("router", &routerv3.Router{})
	fault := plane.Filter("fault", &faultv3.HTTPFault{})
	unknown := plane.Filter("unknown", wrapperspb.String("x"))
	optional := plane.Filter("unknown", wrapperspb.String("x"))
	optional.IsOptional = true
	garbage := plane.Filter("fault", &faultv3.HTTPFault{})
	garbage.GetTypedConfig().Value = []byte("\xff")
	rbac := plane.Filter("rbac", &rbacv3.RBAC{})
	disabled := plane.Filter("fault", &faultv3.HTTPFault{Abort: &faultv3.FaultAbort{
		ErrorType:  &faultv3.FaultAbort_GrpcStatus{GrpcStatus: 14},
		Percentage: &typev3.FractionalPercent{Numerator: 100},
	}})
	disabled.Disabled = true
	return changes{
		"no filters":                filters(),
		"no router":                 filters(fault),
		"router first":              filters(router, fault),
		"two routers":               filters(plane.Filter("router 1", &routerv3.Router{}), router),
		"fault":                     filters(fault, router),
		"the same name twice":       filters(plane.Filter("router", &faultv3.HTTPFault{}), router),
		"filter without a name":     filters(plane.Filter("", &faultv3.HTTPFault{}), router),
		"unknown filter":            filters(unknown, router),
		"unknown optional filter":   filters(optional, router),
		"garbage for a filter":      filters(garbage, router),
		"filter without a config":   filters(&hcmv3.HttpFilter{Name: "x"}, router),
		"filter of servers":         filters(rbac, router),
		"filter that is disabled":   filters(disabled, router),
		"filter that is discovered": filters(&hcmv3.HttpFilter{Name: "x", ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{}}, router),
	}
}

func clusterChanges() changes {
	first := func(f func(*clusterv3.Cluster)) func(*xdsState) {
		return func(s *xdsState) { f(s.clusters[0]) }
	}
	ring := func(low, high uint64, hash clusterv3.Cluster_RingHashLbConfig_HashFunction) func(*xdsState) {
		return first(func(c *clusterv3.Cluster) {
			c.LbPolicy = clusterv3.Cluster_RING_HASH
			c.LbConfig = &clusterv3.Cluster_RingHashLbConfig_{RingHashLbConfig: &clusterv3.Cluster_RingHashLbConfig{
				MinimumRingSize: wrapperspb.UInt64(low), MaximumRingSize: wrapperspb.UInt64(high), HashFunction: hash,
			}}
		})
	}
	choices := func(n uint32) func(*xdsState) {
		return first(func(c *clusterv3.Cluster) {
			c.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
			c.LbConfig = &clusterv3.Cluster_LeastRequestLbConfig_{LeastRequestLbConfig: &clusterv3.Cluster_LeastRequestLbConfig{ChoiceCount: wrapperspb.UInt32(n)}}
		})
	}
	out := changes{
		"static": first(func(c *clusterv3.Cluster) {
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
		}),
		"strict DNS": first(func(c *clusterv3.Cluster) {
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
		}),
		"logical DNS without": first(func(c *clusterv3.Cluster) {
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS}
		}),
		"original DST": first(func(c *clusterv3.Cluster) {
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_ORIGINAL_DST}
		}),
		"no type": first(func(c *clusterv3.Cluster) { c.ClusterDiscoveryType = nil }),
		"unknown custom type": first(func(c *clusterv3.Cluster) {
			c.ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{Name: "x", TypedConfig: plane.Any(wrapperspb.String("x"))}}
		}),
		"no EDS config": first(func(c *clusterv3.Cluster) { c.EdsClusterConfig = nil }),
		"no EDS source": first(func(c *clusterv3.Cluster) { c.EdsClusterConfig.EdsConfig = nil }),
		"EDS name of b": first(func(c *clusterv3.Cluster) { c.EdsClusterConfig.ServiceName = "b" }),
		"reports loads to itself": first(func(c *clusterv3.Cluster) {
			c.LrsServer = &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}}}
		}),
		"reports loads by ADS":   first(func(c *clusterv3.Cluster) { c.LrsServer = plane.ADS }),
		"ring":                   ring(1, 10, clusterv3.Cluster_RingHashLbConfig_XX_HASH),
		"ring reversed":          ring(10, 1, clusterv3.Cluster_RingHashLbConfig_XX_HASH),
		"ring too large":         ring(1, 9<<20, clusterv3.Cluster_RingHashLbConfig_XX_HASH),
		"ring minimum too large": ring(9<<20, 8<<20, clusterv3.Cluster_RingHashLbConfig_XX_HASH),
		"ring of murmur":         ring(1, 10, clusterv3.Cluster_RingHashLbConfig_MURMUR_HASH_2),
		"ring of zeros":          ring(0, 0, clusterv3.Cluster_RingHashLbConfig_XX_HASH),
		"least request":          choices(2),
		"least request of 1":     choices(1),
		"least request of 0":     choices(0),
		"least request of 1000":  choices(1000),
	}
	for number, name := range clusterv3.Cluster_LbPolicy_name {
		out["policy "+strings.ToLower(name)] = first(func(c *clusterv3.Cluster) { c.LbPolicy = clusterv3.Cluster_LbPolicy(number) })
	}
	return out
}

// clusterExtras are of what stands beside a cluster's type.
func clusterExtras() changes {
	first := func(f func(*clusterv3.Cluster)) func(*xdsState) {
		return func(s *xdsState) { f(s.clusters[0]) }
	}
	outliers := func(o *clusterv3.OutlierDetection) func(*xdsState) {
		return first(func(c *clusterv3.Cluster) { c.OutlierDetection = o })
	}
	socket := func(s *corev3.TransportSocket) func(*xdsState) {
		return first(func(c *clusterv3.Cluster) { c.TransportSocket = s })
	}
	typed := func(a *anypb.Any) *corev3.TransportSocket {
		return &corev3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: a}}
	}
	policy := func(list ...*anypb.Any) func(*xdsState) {
		return first(func(c *clusterv3.Cluster) {
			c.LoadBalancingPolicy = &clusterv3.LoadBalancingPolicy{}
			for _, a := range list {
				c.LoadBalancingPolicy.Policies = append(c.LoadBalancingPolicy.Policies, &clusterv3.LoadBalancingPolicy_Policy{
					TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: "x", TypedConfig: a},
				})
			}
		})
	}
	return changes{
		"no outliers":            outliers(&clusterv3.OutlierDetection{}),
		"outliers percent 101":   outliers(&clusterv3.OutlierDetection{MaxEjectionPercent: wrapperspb.UInt32(101)}),
		"outliers enforcing 101": outliers(&clusterv3.OutlierDetection{EnforcingSuccessRate: wrapperspb.UInt32(101)}),
		"outliers failures 101":  outliers(&clusterv3.OutlierDetection{FailurePercentageThreshold: wrapperspb.UInt32(101)}),
		"outliers negative":      outliers(&clusterv3.OutlierDetection{Interval: durationpb.New(-1)}),
		"outliers bad duration":  outliers(&clusterv3.OutlierDetection{BaseEjectionTime: &durationpb.Duration{Seconds: 1, Nanos: -1}}),
		"outliers max":           outliers(&clusterv3.OutlierDetection{MaxEjectionTime: durationpb.New(1)}),
		"no policies":            policy(),
		"unknown policy":         policy(plane.Any(wrapperspb.String("x"))),
		"socket empty":           socket(&corev3.TransportSocket{}),
		"socket unknown":         socket(typed(plane.Any(wrapperspb.String("x")))),
		"socket of a server":     socket(typed(plane.Any(&tlsv3.DownstreamTlsContext{}))),
		"socket without checks":  socket(typed(plane.Any(&tlsv3.UpstreamTlsContext{}))),
		"socket without CAs":     socket(typed(plane.Any(&tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{}}))),
		"socket unknown provider": socket(typed(plane.Any(&tlsv3.UpstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
				CaCertificateProviderInstance: &tlsv3.CertificateProviderPluginInstance{InstanceName: "nope"},
			}},
		}}))),
		"breakers": first(func(c *clusterv3.Cluster) {
			c.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{MaxRequests: wrapperspb.UInt32(0)}}}
		}),
		"breakers of high priority": first(func(c *clusterv3.Cluster) {
			c.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{Priority: corev3.RoutingPriority_HIGH, MaxRequests: wrapperspb.UInt32(0)}}}
		}),
		"garbage": func(s *xdsState) {
			s.more = append(s.more, plane.Wrapped{Message: &anypb.Any{TypeUrl: plane.Any(&clusterv3.Cluster{}).GetTypeUrl(), Value: []byte("\xff")}, Name: "a"})
			s.clusters = s.clusters[1:]
		},
	}
}

func endpointChanges() changes {
	of := func(f func(e *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, first *endpointv3.LbEndpoint)) func(*xdsState) {
		return func(s *xdsState) {
			l := s.endpoints[0].Endpoints[0]
			f(s.endpoints[0], l, l.LbEndpoints[0])
		}
	}
	out := changes{
		"no localities": of(func(e *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			e.Endpoints = nil
		}),
		"no endpoints": of(func(_ *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			l.LbEndpoints = nil
		}),
		"no locality": of(func(_ *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			l.Locality = nil
		}),
		"locality of 0": of(func(_ *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			l.LoadBalancingWeight = wrapperspb.UInt32(0)
		}),
		"locality of none": of(func(_ *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			l.LoadBalancingWeight = nil
		}),
		"priority missing": of(func(_ *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			l.Priority = 1
		}),
		"weight 0": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.LoadBalancingWeight = wrapperspb.UInt32(0)
		}),
		"weight large": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.LoadBalancingWeight = wrapperspb.UInt32(1<<32 - 1)
		}),
		"no address": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.GetEndpoint().Address = nil
		}),
		"no endpoint": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.HostIdentifier = nil
		}),
		"named endpoint": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.HostIdentifier = &endpointv3.LbEndpoint_EndpointName{EndpointName: "x"}
		}),
		"name for address": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.GetEndpoint().Address.GetSocketAddress().Address = "localhost"
		}),
		"named port": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.GetEndpoint().Address.GetSocketAddress().PortSpecifier = &corev3.SocketAddress_NamedPort{NamedPort: "http"}
		}),
		"pipe": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.GetEndpoint().Address = &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: "/no/such"}}}
		}),
		"twice": of(func(_ *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			l.LbEndpoints = append(l.LbEndpoints, b)
		}),
		"locality twice": of(func(e *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			e.Endpoints = append(e.Endpoints, plane.Locality("z", 0, 1))
		}),
		"two priorities": of(func(e *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			e.Endpoints = append(e.Endpoints, plane.Locality("z", 1, 1))
		}),
		"first is down": of(func(e *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			l.Priority = 1
			e.Endpoints = append(e.Endpoints, plane.Locality("y", 0, 1))
		}),
		"weights overflow": of(func(e *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			l.LoadBalancingWeight = wrapperspb.UInt32(1<<32 - 1)
			e.Endpoints = append(e.Endpoints, plane.Locality("y", 0, 1))
		}),
		"no name": of(func(e *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.GetEndpoint().Hostname = "host.example"
		}),
		"more addresses": of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.GetEndpoint().AdditionalAddresses = []*endpointv3.Endpoint_AdditionalAddress{{Address: plane.Address(1)}}
		}),
		"garbage": func(s *xdsState) {
			s.more = append(s.more, plane.Wrapped{Message: &anypb.Any{TypeUrl: plane.Any(&endpointv3.ClusterLoadAssignment{}).GetTypeUrl(), Value: []byte("\xff")}, Name: "a"})
			s.endpoints = s.endpoints[1:]
		},
	}
	return out
}

// endpointDrops are of health, and of what is dropped.
func endpointDrops() changes {
	out := changes{}
	of := func(f func(e *endpointv3.ClusterLoadAssignment, l *endpointv3.LocalityLbEndpoints, first *endpointv3.LbEndpoint)) func(*xdsState) {
		return func(s *xdsState) {
			l := s.endpoints[0].Endpoints[0]
			f(s.endpoints[0], l, l.LbEndpoints[0])
		}
	}
	for number, name := range corev3.HealthStatus_name {
		out["health "+strings.ToLower(name)] = of(func(_ *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, b *endpointv3.LbEndpoint) {
			b.HealthStatus = corev3.HealthStatus(number)
		})
	}
	for name, drop := range map[string]*typev3.FractionalPercent{
		"all": {Numerator: 100}, "more than all": {Numerator: 200}, "none": {Numerator: 0}, "a million": {Numerator: 1e6, Denominator: typev3.FractionalPercent_MILLION},
		"of unknown denominator": {Numerator: 1, Denominator: 9}, "nil": nil,
	} {
		out["drops "+name] = of(func(e *endpointv3.ClusterLoadAssignment, _ *endpointv3.LocalityLbEndpoints, _ *endpointv3.LbEndpoint) {
			e.Policy = &endpointv3.ClusterLoadAssignment_Policy{DropOverloads: []*endpointv3.ClusterLoadAssignment_Policy_DropOverload{{Category: "x", DropPercentage: drop}}}
		})
	}
	return out
}

// xdsResourceProbes say what is accepted of a control plane, and what a call meets then.
func xdsResourceProbes() []probe.Probe {
	var out []probe.Probe
	add := func(group, kind string, all changes) {
		for name, change := range all {
			limit := probe.Limit
			if name == "garbage" {
				limit /= 4 // who has got it is not told which resource it was, and waits
			}
			out = append(out, probe.Probe{Name: group + "/" + name, Limit: limit, Run: func(p *probe.P) {
				s := newXDSState(p)
				change(s)
				control := plane.Start(p, s.all()...)
				end := callOf(p.Context(), xdsChannel(p, control), "/a/b")
				if control.Verdict(p, kind) == "refused" {
					end = nodeText(end)
				}
				p.Printf("%s: %s", control.Verdict(p, kind), end)
			}})
		}
	}
	add("listener", "Listener", listenerChanges())
	add("listener", "Listener", filterChanges())
	add("cluster", "Cluster", clusterChanges())
	add("cluster", "Cluster", clusterExtras())
	add("cluster", "Cluster", policyStructs())
	add("listener", "Listener", filterStructs())
	add("routes", "RouteConfiguration", overrideStructs())
	add("routes", "RouteConfiguration", pluginStructs())
	add("endpoints", "ClusterLoadAssignment", endpointChanges())
	add("endpoints", "ClusterLoadAssignment", endpointDrops())
	return out
}
