// SPDX-License-Identifier: Apache-2.0

package cds

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "cds_experimental"

type builder struct{}

func (builder) Name() string { return Name }

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig
	cluster string
	// dynamic says that no route names the cluster, so the policy itself has to subscribe
	// to it (A74).
	dynamic bool
	// policy, if not nil, replaces the policy that the cluster names (A37).
	policy json.RawMessage
}

// ParseConfig parses the fields "cluster" and "isDynamic".
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		Cluster string `json:"cluster"`
		Dynamic bool   `json:"isDynamic"`
	}
	if err := json.Unmarshal(js, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if in.Cluster == "" {
		return nil, errors.New(Name + ": cluster is missing")
	}
	return &config{cluster: in.Cluster, dynamic: in.Dynamic}, nil
}
