// SPDX-License-Identifier: Apache-2.0

package pickfirst

import (
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// ShuffleAddressList makes the policy try the endpoints in random order (gRFC A62).
	ShuffleAddressList bool `json:"shuffleAddressList"`
}

type healthKey struct{}

// EnableHealthListener returns s with a mark that makes pick_first report the health of the server
// that it uses.
func EnableHealthListener(s resolver.State) resolver.State {
	s.Attributes = s.Attributes.WithValue(healthKey{}, true)
	return s
}

func wantsHealth(s resolver.State) bool {
	on, _ := s.Attributes.Value(healthKey{}).(bool)
	return on
}
