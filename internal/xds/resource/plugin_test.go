// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"errors"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	rlspb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func TestRLSPlugin(t *testing.T) {
	inner, err := proto.Marshal(&rlspb.RouteLookupConfig{LookupService: "rls"})
	if err != nil {
		t.Fatal(err)
	}
	value := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
	plugin := func(name string) *routev3.ClusterSpecifierPlugin {
		return &routev3.ClusterSpecifierPlugin{Extension: &corev3.TypedExtensionConfig{
			Name: name, TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/grpc.lookup.v1.RouteLookupClusterSpecifier", Value: value},
		}}
	}
	b, err := proto.Marshal(&routev3.RouteConfiguration{
		ClusterSpecifierPlugins: []*routev3.ClusterSpecifierPlugin{plugin("p"), plugin("unused")},
		VirtualHosts: []*routev3.VirtualHost{{Domains: []string{"*"}, Routes: []*routev3.Route{{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_ClusterSpecifierPlugin{ClusterSpecifierPlugin: "p"}}},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rc, err := ParseRouteConfig(plain(t), b)
	if err != nil {
		t.Fatal(err)
	}
	if len(rc.Plugins) != 1 || rc.VirtualHosts[0].Routes[0].Plugin != "p" {
		t.Errorf("%+v", rc)
	}
	sameJSON(t, rc.Plugins["p"], `[{"rls_experimental":{"routeLookupConfig":{"lookupService":"rls"},"childPolicy":[{"cds_experimental":{"isDynamic":true}}],"childPolicyConfigTargetFieldName":"cluster"}}]`)
}

// TestPluginsInStructs: none that comes in a TypedStruct is known, and so one that is optional is ignored, also if it can't be
// read.
func TestPluginsInStructs(t *testing.T) {
	for _, kind := range []string{"xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"} {
		for _, text := range []string{"", "\xff"} {
			if _, err := readPlugin(&anypb.Any{TypeUrl: "type.googleapis.com/" + kind, Value: []byte(text)}); !errors.Is(err, errNoPlugin) {
				t.Errorf("%s %q: %v", kind, text, err)
			}
		}
	}
}

func FuzzRLSPlugin(f *testing.F) {
	inner, err := proto.Marshal(&rlspb.RouteLookupConfig{LookupService: "rls", CacheSizeBytes: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readPlugin(&anypb.Any{TypeUrl: "type.googleapis.com/grpc.lookup.v1.RouteLookupClusterSpecifier", Value: b})
		if err == nil && !json.Valid(p) {
			t.Errorf("%s", p)
		}
	})
}
