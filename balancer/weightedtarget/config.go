// SPDX-License-Identifier: Apache-2.0

package weightedtarget

import (
	"google.golang.org/grpc/balancer"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "weighted_target_experimental"

// LBConfig is the policy's configuration. In JSON its field is "targets".
type LBConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// Targets are the children by their names.
	Targets map[string]Target `json:"targets,omitempty"`
}

// Target is a child.
type Target struct {
	// Weight is the child's share of RPCs, in relation to the sum of those that can
	// take some. In JSON "weight".
	Weight uint32 `json:"weight,omitempty"`
	// ChildPolicy is the child's policy. In JSON "childPolicy", a list of which the
	// first that is known is taken. A target without one takes no RPCs.
	ChildPolicy *iserviceconfig.BalancerConfig `json:"childPolicy,omitempty"`
}

func lookup(name string) (parse iserviceconfig.ParseBalancer, known bool) {
	b := balancer.Get(name)
	if parser, ok := b.(balancer.ConfigParser); ok {
		return parser.ParseConfig, true
	}
	return nil, b != nil
}
