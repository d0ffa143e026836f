// SPDX-License-Identifier: Apache-2.0

package gracefulswitch

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/serviceconfig"
)

var logger = grpclog.Component("gracefulswitch")

// Config chooses a child policy and carries its configuration.
type Config struct {
	serviceconfig.LoadBalancingConfig

	// Child builds the policy.
	Child balancer.Builder
	// ChildConfig is what the policy's ParseConfig returned; nil if it has none.
	ChildConfig serviceconfig.LoadBalancingConfig
}

// ParseConfig reads a list of policies, in the form of loadBalancingConfig
// (service_config.md): each is an object of one key, the policy's name, with its
// configuration as the value. The first one that is registered is chosen.
func ParseConfig(list json.RawMessage) (*Config, error) {
	var policies []map[string]json.RawMessage
	if err := json.Unmarshal(list, &policies); err != nil {
		return nil, err
	}
	for i, policy := range policies {
		if len(policy) != 1 {
			return nil, fmt.Errorf("expected a JSON struct with one entry; received entry %v at index %d", policy, i)
		}
		for name, config := range policy {
			if b := balancer.Get(name); b != nil {
				return parseChild(b, config)
			}
		}
	}
	return nil, fmt.Errorf("no supported policies found in config: %s", list)
}

// ParseAround parses the configuration of a policy that has one child. It returns the child's
// configuration, from the field "childPolicy", and stores the other fields in own, a pointer to a
// struct. Errors begin with the policy's name.
func ParseAround(policy string, js json.RawMessage, own any) (*Config, error) {
	var in struct {
		ChildPolicy json.RawMessage `json:"childPolicy"`
	}
	err := json.Unmarshal(js, &in)
	if err == nil {
		err = json.Unmarshal(js, own)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", policy, err)
	}
	child, err := ParseConfig(in.ChildPolicy)
	if err != nil {
		return nil, fmt.Errorf("%s: childPolicy: %w", policy, err)
	}
	return child, nil
}

func parseChild(b balancer.Builder, config json.RawMessage) (*Config, error) {
	parser, ok := b.(balancer.ConfigParser)
	if !ok {
		if !bytes.Equal(bytes.TrimSpace(config), []byte("{}")) {
			logger.Warningf("balancer %q takes no configuration, so this is ignored: %s", b.Name(), config)
		}
		return &Config{Child: b}, nil
	}
	parsed, err := parser.ParseConfig(config)
	if err != nil {
		return nil, fmt.Errorf("error parsing config for policy %q: %w", b.Name(), err)
	}
	return &Config{Child: b, ChildConfig: parsed}, nil
}
