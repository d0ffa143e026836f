// SPDX-License-Identifier: Apache-2.0

package priority

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/serviceconfig"
)

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig
	children   map[string]childConfig
	priorities []string // the best first
}

type childConfig struct {
	policy *gracefulswitch.Config
	// ignoreReresolution says that the child's requests to resolve again go nowhere (A37).
	ignoreReresolution bool
}

// ParseConfig reads "children", by name, each with its policy in "config", and "priorities",
// their names.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		Children map[string]struct {
			Config             json.RawMessage `json:"config"`
			IgnoreReresolution bool            `json:"ignoreReresolutionRequests"`
		} `json:"children"`
		Priorities []string `json:"priorities"`
	}
	if err := json.Unmarshal(js, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	c := &config{children: make(map[string]childConfig, len(in.Children)), priorities: in.Priorities}
	for name, child := range in.Children {
		policy, err := gracefulswitch.ParseConfig(child.Config)
		if err != nil {
			return nil, fmt.Errorf("%s: child %q: %w", Name, name, err)
		}
		c.children[name] = childConfig{policy, child.IgnoreReresolution}
	}
	seen := make(map[string]bool)
	for _, name := range c.priorities {
		if _, ok := c.children[name]; !ok {
			return nil, fmt.Errorf("%s: priorities name %q, which is not in children", Name, name)
		}
		if seen[name] {
			return nil, fmt.Errorf("%s: priorities name %q twice", Name, name)
		}
		seen[name] = true
	}
	if len(seen) != len(c.children) {
		return nil, fmt.Errorf("%s: %d children, but %d priorities", Name, len(c.children), len(seen))
	}
	return c, nil
}
