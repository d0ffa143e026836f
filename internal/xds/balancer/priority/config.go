// SPDX-License-Identifier: Apache-2.0

package priority

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// Config is the policy's configuration.
type Config struct {
	serviceconfig.LoadBalancingConfig
	Children   map[string]Child
	Priorities []string // the names of all Children, the best first
	// Endpoints are those of the Children. Nil: endpoints say themselves whose they are, by
	// package hierarchy.
	Endpoints map[string][]resolver.Endpoint
	// Empty says why there are no Children. Nil: nothing is known of that.
	Empty error
}

// Child is one of the policies.
type Child struct {
	Policy *gracefulswitch.Config
	// IgnoreReresolution says that the child's requests to resolve again go nowhere (A37).
	IgnoreReresolution bool
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
	c := &Config{Children: make(map[string]Child, len(in.Children)), Priorities: in.Priorities}
	for name, child := range in.Children {
		policy, err := gracefulswitch.ParseConfig(child.Config)
		if err != nil {
			return nil, fmt.Errorf("%s: child %q: %w", Name, name, err)
		}
		c.Children[name] = Child{policy, child.IgnoreReresolution}
	}
	seen := make(map[string]bool)
	for _, name := range c.Priorities {
		if _, ok := c.Children[name]; !ok {
			return nil, fmt.Errorf("%s: priorities name %q, which is not in children", Name, name)
		}
		if seen[name] {
			return nil, fmt.Errorf("%s: priorities name %q twice", Name, name)
		}
		seen[name] = true
	}
	if len(seen) != len(c.Children) {
		return nil, fmt.Errorf("%s: %d children, but %d priorities", Name, len(c.Children), len(seen))
	}
	return c, nil
}
