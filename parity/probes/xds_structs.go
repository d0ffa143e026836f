// SPDX-License-Identifier: Apache-2.0

package main

import (
	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const typeURL = "type.googleapis.com/"

// structs are messages in the form of a struct, by name. message is the type of a message that is known, and custom the name
// of a policy that the program has.
func structs(message, custom string) map[string]*anypb.Any {
	fields := func(pairs map[string]any) *structpb.Struct {
		s, err := structpb.NewStruct(pairs)
		if err != nil {
			panic(err)
		}
		return s
	}
	typed := func(url string, value *structpb.Struct) *anypb.Any {
		return plane.Any(&xdsv3.TypedStruct{TypeUrl: url, Value: value})
	}
	old := func(url string, value *structpb.Struct) *anypb.Any {
		return plane.Any(&udpav1.TypedStruct{TypeUrl: url, Value: value})
	}
	inner := func(kind, url string) map[string]any {
		return map[string]any{"type_url": kind + url, "value": map[string]any{}}
	}
	empty := fields(nil)
	return map[string]*anypb.Any{
		"known":                  typed(typeURL+message, empty),
		"known, of old":          old(typeURL+message, empty),
		"known, with a field":    typed(typeURL+message, fields(map[string]any{"x": 1})),
		"custom":                 typed(typeURL+custom, empty),
		"custom, of old":         old(typeURL+custom, empty),
		"custom, no value":       typed(typeURL+custom, nil),
		"no type":                typed("", empty),
		"a type that ends early": typed(typeURL, empty),
		"nothing":                plane.Any(&xdsv3.TypedStruct{}),
		"garbage":                {TypeUrl: typeURL + "xds.type.v3.TypedStruct", Value: []byte("\xff")},
		"one in another":         typed(typeURL+"xds.type.v3.TypedStruct", fields(inner(typeURL, custom))),
		"an old one in another":  typed(typeURL+"udpa.type.v1.TypedStruct", fields(inner(typeURL, custom))),
		"one in an old one":      old(typeURL+"xds.type.v3.TypedStruct", fields(inner(typeURL, custom))),
		"a known one in another": typed(typeURL+"xds.type.v3.TypedStruct", fields(inner(typeURL, message))),
		"one of the JSON form":   typed(typeURL+"xds.type.v3.TypedStruct", fields(map[string]any{"typeUrl": typeURL + custom, "value": map[string]any{}})),
	}
}

// policyStructs have a cluster's policy in such a form.
func policyStructs() changes {
	out := make(changes)
	policies := func(list ...*anypb.Any) *clusterv3.LoadBalancingPolicy {
		p := &clusterv3.LoadBalancingPolicy{}
		for _, a := range list {
			p.Policies = append(p.Policies, &clusterv3.LoadBalancingPolicy_Policy{TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: "x", TypedConfig: a}})
		}
		return p
	}
	all := structs("envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin", "round_robin")
	for _, url := range []string{"round_robin", "a/b/round_robin", "a/b/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin"} {
		all["of type "+url] = plane.Any(&xdsv3.TypedStruct{TypeUrl: url, Value: &structpb.Struct{}})
	}
	for name, a := range all {
		for where, list := range map[string]*clusterv3.LoadBalancingPolicy{
			"alone":       policies(a),
			"or another":  policies(a, plane.Any(&roundrobinv3.RoundRobin{})),
			"in another":  policies(plane.Any(&wrrlocalityv3.WrrLocality{EndpointPickingPolicy: policies(a)})),
			"and unknown": policies(plane.Any(wrapperspb.String("x")), a),
		} {
			out["policy as struct, "+name+", "+where] = func(s *xdsState) { s.clusters[0].LoadBalancingPolicy = list }
		}
	}
	return out
}

// filterStructs have a listener's filter in such a form.
func filterStructs() changes {
	out := make(changes)
	for name, a := range structs("envoy.extensions.filters.http.fault.v3.HTTPFault", "envoy.extensions.filters.http.router.v3.Router") {
		for _, optional := range []bool{false, true} {
			title := "filter as struct, " + name
			if optional {
				title += ", optional"
			}
			out[title] = func(s *xdsState) {
				f := plane.Filter("x", &faultv3.HTTPFault{})
				f.ConfigType, f.IsOptional = &hcmv3.HttpFilter_TypedConfig{TypedConfig: a}, optional
				s.manager.HttpFilters = []*hcmv3.HttpFilter{f, plane.Filter("router", &routerv3.Router{})}
			}
		}
	}
	return out
}

// overrideStructs have what a virtual host has for a filter in such a form.
func overrideStructs() changes {
	out := make(changes)
	for name, a := range structs("envoy.extensions.filters.http.fault.v3.HTTPFault", "envoy.extensions.filters.http.router.v3.Router") {
		out["override as struct, "+name] = func(s *xdsState) {
			s.manager.HttpFilters = []*hcmv3.HttpFilter{plane.Filter("x", &faultv3.HTTPFault{}), plane.Filter("router", &routerv3.Router{})}
			s.host().TypedPerFilterConfig = map[string]*anypb.Any{"x": a}
		}
	}
	return out
}

// pluginStructs have a plugin that chooses clusters in such a form.
func pluginStructs() changes {
	out := make(changes)
	for name, a := range structs("grpc.lookup.v1.RouteLookupClusterSpecifier", "rls_experimental") {
		for _, optional := range []bool{false, true} {
			title := "plugin as struct, " + name
			if optional {
				title += ", optional"
			}
			out[title] = func(s *xdsState) {
				s.routes.ClusterSpecifierPlugins = []*routev3.ClusterSpecifierPlugin{{Extension: &corev3.TypedExtensionConfig{Name: "p", TypedConfig: a}, IsOptional: optional}}
			}
		}
	}
	return out
}
