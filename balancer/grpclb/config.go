// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
)

// fallbackTimeout is the default of initialFallbackTimeout.
const fallbackTimeout = 10 * time.Second

// lbConfig is the policy's configuration.
type lbConfig struct {
	serviceconfig.LoadBalancingConfig

	pickFirst   bool
	serviceName string
	fallback    time.Duration
}

func parseConfig(text json.RawMessage) (*lbConfig, error) {
	var in struct {
		ChildPolicy            []map[string]json.RawMessage `json:"childPolicy"`
		ServiceName            string                       `json:"serviceName"`
		InitialFallbackTimeout json.RawMessage              `json:"initialFallbackTimeout"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("grpclb: %w", err)
	}
	out := &lbConfig{serviceName: in.ServiceName, fallback: fallbackTimeout, pickFirst: choosesPickFirst(in.ChildPolicy)}
	if in.InitialFallbackTimeout != nil {
		var d durationpb.Duration
		if err := protojson.Unmarshal(in.InitialFallbackTimeout, &d); err != nil {
			return nil, fmt.Errorf("grpclb: initialFallbackTimeout: %w", err)
		}
		if out.fallback = d.AsDuration(); out.fallback <= 0 {
			return nil, fmt.Errorf("grpclb: initialFallbackTimeout %v is not above zero", out.fallback)
		}
	}
	return out, nil
}

func choosesPickFirst(policies []map[string]json.RawMessage) bool {
	for _, p := range policies {
		if _, ok := p[pickfirst.Name]; ok {
			return true
		}
		if _, ok := p["round_robin"]; ok {
			return false
		}
	}
	return false
}
