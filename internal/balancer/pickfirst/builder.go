// SPDX-License-Identifier: Apache-2.0

// Package pickfirst is the pick_first policy (gRFC A61, A62): of all addresses it uses
// the first to which a connection can be made.
package pickfirst

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"google.golang.org/grpc/balancer"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/resolver"
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
func (Builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	target := opts.Target.String()
	//lint:ignore SA1019 it is not used if it is another
	if t := cc.Target(); t == target {
		target = t // the same bytes once
	}
	return &pickFirst{
		cc:      cc,
		target:  target,
		shuffle: rand.Shuffle,
	}
}

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// ShuffleAddressList has the endpoints tried in random order (gRFC A62).
	ShuffleAddressList bool `json:"shuffleAddressList"`
}

// ParseConfig implements balancer.ConfigParser.
func (Builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var c config
	if err := json.Unmarshal(js, &c); err != nil {
		return nil, fmt.Errorf("pick_first: %w", err)
	}
	return c, nil
}

type healthKey struct{}

// EnableHealthListener marks a state for a balancer that is to follow the health of the
// server.
func EnableHealthListener(s resolver.State) resolver.State {
	s.Attributes = s.Attributes.WithValue(healthKey{}, true)
	return s
}

func wantsHealth(s resolver.State) bool {
	on, _ := s.Attributes.Value(healthKey{}).(bool)
	return on
}

// The metrics of gRFC A78.
var (
	disconnections = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:        "grpc.lb.pick_first.disconnections",
		Description: "How often the connection in use was lost.",
		Unit:        "{disconnection}",
		Labels:      []string{"grpc.target"},
	})
	attemptsSucceeded = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:        "grpc.lb.pick_first.connection_attempts_succeeded",
		Description: "How many attempts to connect succeeded.",
		Unit:        "{attempt}",
		Labels:      []string{"grpc.target"},
	})
	attemptsFailed = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:        "grpc.lb.pick_first.connection_attempts_failed",
		Description: "How many attempts to connect failed.",
		Unit:        "{attempt}",
		Labels:      []string{"grpc.target"},
	})
)
