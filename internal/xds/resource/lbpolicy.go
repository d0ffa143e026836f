// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	cswrrv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	pickfirstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random_subsetting/v3"
	ringv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	wrrlocalityv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/wrr_locality/v3"
	"google.golang.org/grpc/balancer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// The ring sizes if a resource does not set them (A42).
const (
	defaultMinRing = 1024
	defaultMaxRing = 8 << 20
)

// maxPolicies limits how deeply policies may be nested (A52).
const maxPolicies = 16

// object is a JSON object.
type object map[string]any

// policyParser parses the message of one policy.
type policyParser func(raw []byte, depth int) (object, error)

// knownPolicy is the policy of gRPC that corresponds to a message of Envoy's.
type knownPolicy struct {
	name  string
	parse policyParser
}

// knownPolicies returns the policy for the message of this name. It is not a variable,
// because some of the parsers call policyList, which calls it.
func knownPolicies(message string) (knownPolicy, bool) {
	const base = "envoy.extensions.load_balancing_policies."
	switch message {
	case base + "ring_hash.v3.RingHash":
		return knownPolicy{"ring_hash_experimental", ringHash}, true
	case base + "round_robin.v3.RoundRobin":
		return knownPolicy{"round_robin", func([]byte, int) (object, error) { return object{}, nil }}, true
	case base + "pick_first.v3.PickFirst":
		return knownPolicy{"pick_first", pickFirst}, true
	case base + "least_request.v3.LeastRequest":
		return knownPolicy{"least_request_experimental", leastRequest}, true
	case base + "wrr_locality.v3.WrrLocality":
		return knownPolicy{"xds_wrr_locality_experimental", wrrLocality}, true
	case base + "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin":
		return knownPolicy{"weighted_round_robin", weightedRoundRobin}, true
	case base + "random_subsetting.v3.RandomSubsetting":
		return knownPolicy{"random_subsetting_experimental", randomSubsetting}, true
	default:
		return knownPolicy{}, false
	}
}

// policyList returns the first policy of the list that is known, with its configuration.
func policyList(in *clusterv3.LoadBalancingPolicy, depth int) (object, error) {
	if depth > maxPolicies {
		return nil, fmt.Errorf("policies lie more than %d deep", maxPolicies)
	}
	for i, p := range in.GetPolicies() {
		name, config, err := policy(p.GetTypedExtensionConfig().GetTypedConfig(), depth)
		if err != nil {
			return nil, atIndex("policies", i, at("typed_extension_config.typed_config", err))
		}
		if name != "" {
			return object{name: config}, nil
		}
	}
	return nil, wrong("policies", "none of %d is supported", len(in.GetPolicies()))
}

// policy returns the name and the configuration of a policy. The name is "" if the policy
// is not known.
func policy(in *anypb.Any, depth int) (string, object, error) {
	message := string(in.MessageName())
	switch message {
	case "xds.type.v3.TypedStruct":
		var s xdsv3.TypedStruct
		if err := proto.Unmarshal(in.GetValue(), &s); err != nil {
			return "", nil, err
		}
		return customPolicy(s.GetTypeUrl(), s.GetValue())
	case "udpa.type.v1.TypedStruct":
		var s udpav1.TypedStruct
		if err := proto.Unmarshal(in.GetValue(), &s); err != nil {
			return "", nil, err
		}
		return customPolicy(s.GetTypeUrl(), s.GetValue())
	}
	known, ok := knownPolicies(message)
	if !ok {
		return "", nil, nil
	}
	config, err := known.parse(in.GetValue(), depth)
	if err == nil {
		err = check(known.name, config)
	}
	return known.name, config, err
}

// customPolicy returns a policy that the program has registered under the last part of the
// URL (A52).
func customPolicy(url string, value *structpb.Struct) (string, object, error) {
	name := url[strings.LastIndexByte(url, '/')+1:]
	if name == "" || balancer.Get(name) == nil {
		return "", nil, nil
	}
	config := object(value.AsMap())
	return name, config, check(name, config)
}

// check lets the policy parse its configuration, if the program has registered the policy.
func check(name string, config object) error {
	parser, ok := balancer.Get(name).(balancer.ConfigParser)
	if !ok {
		return nil
	}
	js, err := json.Marshal(config)
	if err == nil {
		_, err = parser.ParseConfig(js)
	}
	return err
}

// sized is a message that has a ring size.
type sized interface{ GetValue() uint64 }

func ringSizes[N interface {
	sized
	comparable
}](smallest, largest N) object {
	var none N
	low, high := uint64(defaultMinRing), uint64(defaultMaxRing)
	if smallest != none {
		low = smallest.GetValue()
	}
	if largest != none {
		high = largest.GetValue()
	}
	return object{"minRingSize": low, "maxRingSize": high}
}

func ringHash(raw []byte, _ int) (object, error) {
	var in ringv3.RingHash
	if err := proto.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if f := in.GetHashFunction(); f != ringv3.RingHash_XX_HASH {
		return nil, wrong("hash_function", "%v is not supported", f)
	}
	return ringSizes(in.GetMinimumRingSize(), in.GetMaximumRingSize()), nil
}

func pickFirst(raw []byte, _ int) (object, error) {
	var in pickfirstv3.PickFirst
	if err := proto.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	return object{"shuffleAddressList": in.GetShuffleAddressList()}, nil
}

func leastRequest(raw []byte, _ int) (object, error) {
	var in leastv3.LeastRequest
	if err := proto.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	return object{"choiceCount": number(in.GetChoiceCount(), 2)}, nil
}

func wrrLocality(raw []byte, depth int) (object, error) {
	var in wrrlocalityv3.WrrLocality
	if err := proto.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	if in.GetEndpointPickingPolicy() == nil {
		return nil, at("endpoint_picking_policy", errors.New("missing"))
	}
	child, err := policyList(in.GetEndpointPickingPolicy(), depth+1)
	if err != nil {
		return nil, at("endpoint_picking_policy", err)
	}
	return object{"childPolicy": []object{child}}, nil
}

func randomSubsetting(raw []byte, depth int) (object, error) {
	var in subsetv3.RandomSubsetting
	if err := proto.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	child, err := policyList(in.GetChildPolicy(), depth+1)
	if err != nil {
		return nil, at("child_policy", err)
	}
	return object{"subsetSize": in.GetSubsetSize().GetValue(), "childPolicy": []object{child}}, nil
}

// weightedRoundRobin parses the configuration of weighted_round_robin (A58).
func weightedRoundRobin(raw []byte, _ int) (object, error) {
	var in cswrrv3.ClientSideWeightedRoundRobin
	if err := proto.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	out := object{}
	if v := in.GetEnableOobLoadReport(); v != nil {
		out["enableOobLoadReport"] = v.GetValue()
	}
	r := outlierReader{}
	if v := in.GetOobReportingPeriod(); v != nil {
		out["oobReportingPeriod"] = seconds(r.duration("oob_reporting_period", v, 0))
	}
	if v := in.GetBlackoutPeriod(); v != nil {
		out["blackoutPeriod"] = seconds(r.duration("blackout_period", v, 0))
	}
	if v := in.GetWeightExpirationPeriod(); v != nil {
		out["weightExpirationPeriod"] = seconds(r.duration("weight_expiration_period", v, 0))
	}
	if v := in.GetWeightUpdatePeriod(); v != nil {
		out["weightUpdatePeriod"] = seconds(r.duration("weight_update_period", v, 0))
	}
	if v := in.GetErrorUtilizationPenalty(); v != nil {
		if v.GetValue() < 0 {
			return nil, wrong("error_utilization_penalty", "%v is negative", v.GetValue())
		}
		out["errorUtilizationPenalty"] = v.GetValue()
	}
	return out, r.err
}
