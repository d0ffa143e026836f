// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"errors"
	"fmt"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	"google.golang.org/grpc/balancer"
	rlspb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Plugin is a list of one policy, in the form of a service config. The policy chooses a
// cluster for each RPC.
type Plugin json.RawMessage

// rlsName is the policy of the only plugin that is known.
const rlsName = "rls_experimental"

var errNoPlugin = errors.New("no cluster specifier plugin is known")

// readPlugin knows no plugin that comes in a TypedStruct, and so a bad one is only a plugin that is not known.
func readPlugin(in *anypb.Any) (Plugin, error) {
	const rls = "grpc.lookup.v1.RouteLookupClusterSpecifier"
	name := string(in.MessageName())
	switch name {
	case "xds.type.v3.TypedStruct":
		var s xdsv3.TypedStruct
		if err := proto.Unmarshal(in.GetValue(), &s); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoPlugin, err)
		}
		name = string((&anypb.Any{TypeUrl: s.GetTypeUrl()}).MessageName())
	case "udpa.type.v1.TypedStruct":
		var s udpav1.TypedStruct
		if err := proto.Unmarshal(in.GetValue(), &s); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoPlugin, err)
		}
		name = string((&anypb.Any{TypeUrl: s.GetTypeUrl()}).MessageName())
	case rls:
		return readRLS(in.GetValue())
	}
	return nil, fmt.Errorf("%w for type %q", errNoPlugin, name)
}

func readRLS(raw []byte) (Plugin, error) {
	inner, err := firstMessage(raw)
	if err != nil {
		return nil, err
	}
	var in rlspb.RouteLookupConfig
	if err := proto.Unmarshal(inner, &in); err != nil {
		return nil, at("route_lookup_config", err)
	}
	lookup, err := protojson.Marshal(&in)
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"routeLookupConfig":                json.RawMessage(lookup),
		"childPolicy":                      []object{{"cds_experimental": object{"isDynamic": true}}},
		"childPolicyConfigTargetFieldName": "cluster",
	})
	if err != nil {
		return nil, err
	}
	if parser, ok := balancer.Get(rlsName).(balancer.ConfigParser); ok && balancer.Get("cds_experimental") != nil {
		if _, err := parser.ParseConfig(config); err != nil {
			return nil, err
		}
	}
	list, err := json.Marshal([]map[string]json.RawMessage{{rlsName: config}})
	return list, err
}

// firstMessage returns field 1 of a message, which is a message too. It is the only field
// of RouteLookupClusterSpecifier. If it occurs several times, the last one counts.
func firstMessage(raw []byte) (inner []byte, err error) {
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		raw = raw[n:]
		if number == 1 && kind == protowire.BytesType {
			inner, _ = protowire.ConsumeBytes(raw)
		}
		if n = protowire.ConsumeFieldValue(number, kind, raw); n < 0 {
			return nil, protowire.ParseError(n)
		}
		raw = raw[n:]
	}
	return inner, nil
}
