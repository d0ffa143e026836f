// SPDX-License-Identifier: Apache-2.0

package pickfirst

import (
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// ShuffleAddressList has the endpoints tried in random order (gRFC A62).
	ShuffleAddressList bool `json:"shuffleAddressList"`
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
