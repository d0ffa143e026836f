// SPDX-License-Identifier: Apache-2.0

// Package pickfirst has the pick_first policy (gRFC A61, A62): it uses the first address to which
// it can connect.
package pickfirst

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the policy's name.
const Name = "pick_first"

func init() { balancer.Register(Builder{}) }

// Builder makes pick_first balancers.
type Builder struct{}

// Name returns "pick_first".
func (Builder) Name() string { return Name }

// Build makes a balancer.
func (Builder) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	return &pickFirst{cc: cc, shuffler: shuffler{random: rand.Float64, weights: envconfig.PickFirstWeightedShuffling}}
}

// ParseConfig implements balancer.ConfigParser.
func (Builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var c config
	if err := json.Unmarshal(js, &c); err != nil {
		return nil, fmt.Errorf("pick_first: %w", err)
	}
	return c, nil
}
