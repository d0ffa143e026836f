// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/roundrobin" // registers round_robin
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/balancer/pickfirst"
	internalserviceconfig "google.golang.org/grpc/internal/serviceconfig"
)

// ServiceConfig is a parsed service config.
type ServiceConfig struct {
	// Methods is keyed by "/service/method", by "/service/" for all methods of a
	// service, by "" for all.
	Methods map[string]internalserviceconfig.MethodConfig

	balancer   *gracefulswitch.Config
	throttling *internalserviceconfig.RetryThrottling
	healthName *string // the service whose health is watched; nil for none
	scale      int     // how many connections a subchannel may have; 0: not said
	json       string
}

// NoServiceConfig is what holds where nothing is configured. pick_first then is the
// balancer. It is not changed.
var NoServiceConfig = &ServiceConfig{}

// ParseServiceConfig parses a service config's JSON (service_config.md).
func ParseServiceConfig(js string) (*ServiceConfig, error) {
	parsed, err := internalserviceconfig.Parse([]byte(js))
	if err != nil {
		return nil, err
	}
	sc := &ServiceConfig{
		Methods:    parsed.Methods,
		throttling: parsed.Throttling,
		healthName: parsed.HealthCheckService,
		scale:      parsed.MaxConnectionsPerSubchannel,
		json:       js,
	}
	list := parsed.LoadBalancingConfig
	if list == nil {
		// The older field: a name without configuration. One that nobody knows
		// is passed over.
		name := parsed.LoadBalancingPolicy
		if balancer.Get(name) == nil {
			name = pickfirst.Name
		}
		list = json.RawMessage(fmt.Sprintf(`[{%q: {}}]`, name))
	}
	if sc.balancer, err = gracefulswitch.ParseConfig(list); err != nil {
		return nil, err
	}
	return sc, nil
}

// balancerConfig is what the channel's balancer is given.
func (sc *ServiceConfig) balancerConfig() *gracefulswitch.Config {
	if sc.balancer != nil {
		return sc.balancer
	}
	return defaultBalancer()
}

func defaultBalancer() *gracefulswitch.Config {
	return &gracefulswitch.Config{Child: balancer.Get(pickfirst.Name)}
}

// method returns the config of "/service/method".
func (sc *ServiceConfig) method(path string) internalserviceconfig.MethodConfig {
	if len(sc.Methods) == 0 {
		return internalserviceconfig.MethodConfig{}
	}
	return internalserviceconfig.Method(sc.Methods, path)
}
