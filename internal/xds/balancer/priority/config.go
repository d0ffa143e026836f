// SPDX-License-Identifier: Apache-2.0

package priority

import (
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "priority_experimental"

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
