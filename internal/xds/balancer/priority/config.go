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
	Priorities []string // the names of all Children, the best one first
	// Endpoints are the endpoints of each child, by its name. If it is nil, the attributes
	// of package hierarchy say to which child an endpoint belongs.
	Endpoints map[string][]resolver.Endpoint
	// Empty says why there are no Children. Nil means that the reason is not known.
	Empty error
}

// Child is one of the children.
type Child struct {
	Policy *gracefulswitch.Config
	// IgnoreReresolution says to ignore the child's calls of ResolveNow (A37).
	IgnoreReresolution bool
}
