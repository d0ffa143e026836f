// SPDX-License-Identifier: Apache-2.0

package serviceconfig

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/serviceconfig"
)

// BalancerConfig is a balancer and its configuration.
type BalancerConfig struct {
	Name   string
	Config serviceconfig.LoadBalancingConfig // nil if the balancer takes none
}

// ParseBalancer parses the configuration of one balancer.
type ParseBalancer func(json.RawMessage) (serviceconfig.LoadBalancingConfig, error)

// Lookup finds a balancer by name. known reports whether there is one. parse is nil if the balancer
// takes no configuration.
type Lookup func(name string) (parse ParseBalancer, known bool)

// SelectBalancer parses a list of balancers and returns the first one that lookup knows. Each entry
// of the list is an object with one key, the balancer's name; the value is its configuration.
// SelectBalancer fails if lookup knows none of them, or if the first known one rejects its
// configuration (gRFC A24).
func SelectBalancer(list json.RawMessage, lookup Lookup) (BalancerConfig, error) {
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return BalancerConfig{}, fmt.Errorf("loadBalancingConfig: %w", err)
	}
	var names []string
	for i, entry := range entries {
		if len(entry) != 1 {
			return BalancerConfig{}, fmt.Errorf("expected a JSON struct with one entry; received entry %v at index %d", entry, i)
		}
		for name, js := range entry {
			parse, known := lookup(name)
			if !known {
				names = append(names, name)
				continue
			}
			return parseBalancer(name, parse, js)
		}
	}
	return BalancerConfig{}, fmt.Errorf("invalid loadBalancingConfig: no supported policies found in %v", names)
}

func parseBalancer(name string, parse ParseBalancer, js json.RawMessage) (BalancerConfig, error) {
	b := BalancerConfig{Name: name}
	if parse == nil {
		return b, nil
	}
	var err error
	if b.Config, err = parse(js); err != nil {
		return BalancerConfig{}, fmt.Errorf("loadBalancingConfig: %s: %w", name, err)
	}
	return b, nil
}
