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
	// Methods has the keys "/service/method", "/service/" for all other methods of the service, and
	// "" for all other methods.
	Methods map[string]internalserviceconfig.MethodConfig

	balancer   *gracefulswitch.Config
	throttling *internalserviceconfig.RetryThrottling
	healthName *string // the service whose health subchannels watch; nil: they watch none
	scale      int     // how many connections a subchannel may have; 0: not set
	json       string
}

// NoServiceConfig is the service config of channels for which nothing is configured. Its balancer
// is pick_first. Nobody may change it.
var NoServiceConfig = &ServiceConfig{}

// ParseServiceConfig parses a service config's JSON (service_config.md). Its field connectionScaling counts only if
// scale is true, as Options.Scale.
func ParseServiceConfig(js string, scale bool) (*ServiceConfig, error) {
	parsed, err := internalserviceconfig.Parse([]byte(js))
	if err != nil {
		return nil, err
	}
	sc := &ServiceConfig{
		Methods:    parsed.Methods,
		throttling: parsed.Throttling,
		healthName: parsed.HealthCheckService,
		json:       js,
	}
	if scale {
		if sc.scale, err = parsed.MaxConnectionsPerSubchannel(); err != nil {
			return nil, err
		}
	}
	list := parsed.LoadBalancingConfig
	if list == nil {
		// The older field has a name without configuration. A name that is not registered is
		// ignored.
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

// balancerConfig returns the configuration for the channel's balancer.
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
