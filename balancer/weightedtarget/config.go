// SPDX-License-Identifier: Apache-2.0

package weightedtarget

import (
	"google.golang.org/grpc/balancer"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "weighted_target_experimental"

// LBConfig is the policy's configuration. In JSON it has one field, "targets".
type LBConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// Targets maps the children's names to the children.
	Targets map[string]Target `json:"targets,omitempty"`
}

// Target is the configuration of a child.
type Target struct {
	// Weight is the child's share of RPCs, relative to the sum of the weights of all children that
	// can take RPCs. In JSON it is "weight".
	Weight uint32 `json:"weight,omitempty"`
	// ChildPolicy is the child's policy. In JSON it is "childPolicy", a list of policies; the first
	// that is registered is used. A target without a policy takes no RPCs.
	ChildPolicy *iserviceconfig.BalancerConfig `json:"childPolicy,omitempty"`
}

func lookup(name string) (parse iserviceconfig.ParseBalancer, known bool) {
	b := balancer.Get(name)
	if parser, ok := b.(balancer.ConfigParser); ok {
		return parser.ParseConfig, true
	}
	return nil, b != nil
}
