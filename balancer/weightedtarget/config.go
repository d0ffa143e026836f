// SPDX-License-Identifier: Apache-2.0

package weightedtarget

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/balancer"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

// LBConfig is the policy's configuration. In JSON its field is "targets".
type LBConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// Targets are the children by their names.
	Targets map[string]Target `json:"targets,omitempty"`
}

// Target is a child.
type Target struct {
	// Weight is the child's share of RPCs, in relation to the sum of those that can
	// take some. In JSON "weight".
	Weight uint32 `json:"weight,omitempty"`
	// ChildPolicy is the child's policy. In JSON "childPolicy", a list of which the
	// first that is known is taken. A target without one takes no RPCs.
	ChildPolicy *iserviceconfig.BalancerConfig `json:"childPolicy,omitempty"`
}

// ParseConfig returns a *LBConfig.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var raw struct {
		Targets map[string]struct {
			Weight      uint32          `json:"weight"`
			ChildPolicy json.RawMessage `json:"childPolicy"`
		} `json:"targets"`
	}
	if err := json.Unmarshal(js, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	config := &LBConfig{Targets: make(map[string]Target)}
	for name, t := range raw.Targets {
		if len(t.ChildPolicy) == 0 {
			config.Targets[name] = Target{Weight: t.Weight}
			continue
		}
		child, err := iserviceconfig.SelectBalancer(t.ChildPolicy, lookup)
		if err != nil {
			return nil, fmt.Errorf("%s: target %q: %w", Name, name, err)
		}
		config.Targets[name] = Target{Weight: t.Weight, ChildPolicy: &child}
	}
	return config, nil
}

func lookup(name string) (parse iserviceconfig.ParseBalancer, known bool) {
	b := balancer.Get(name)
	if parser, ok := b.(balancer.ConfigParser); ok {
		return parser.ParseConfig, true
	}
	return nil, b != nil
}
