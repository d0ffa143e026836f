// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/roundrobin" // registers round_robin
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/balancer/pickfirst"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/rpcconfig"
	internalserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

// PickFirstBalancerName is the name of the balancer that a channel has where its
// service config names none.
//
// Deprecated: use package balancer/pickfirst.
var PickFirstBalancerName = pickfirst.Name

// MethodConfig is what a service config says of a method.
//
// Deprecated: applications have no use for it.
type MethodConfig = internalserviceconfig.MethodConfig

// ServiceConfig is a parsed service config.
//
// Deprecated: applications have no use for it; serviceconfig.Config stands for it
// where it has to be passed on.
type ServiceConfig struct {
	serviceconfig.Config

	// Methods is keyed by "/service/method", by "/service/" for all methods of a
	// service, by "" for all.
	Methods map[string]MethodConfig

	balancer   *gracefulswitch.Config
	throttling *internalserviceconfig.RetryThrottling
	healthName *string // the service whose health is watched; nil for none
	json       string
}

// noServiceConfig is what holds where nothing is configured. pick_first then is the
// balancer. It is not changed.
var noServiceConfig = &ServiceConfig{}

// parseServiceConfig parses a service config's JSON (service_config.md).
func parseServiceConfig(js string) *serviceconfig.ParseResult {
	parsed, err := internalserviceconfig.Parse([]byte(js))
	if err != nil {
		return &serviceconfig.ParseResult{Err: err}
	}
	sc := &ServiceConfig{
		Methods:    parsed.Methods,
		throttling: parsed.Throttling,
		healthName: parsed.HealthCheckService,
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
		return &serviceconfig.ParseResult{Err: err}
	}
	return &serviceconfig.ParseResult{Config: sc}
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
func (sc *ServiceConfig) method(path string) MethodConfig {
	if len(sc.Methods) == 0 {
		return MethodConfig{}
	}
	return internalserviceconfig.Method(sc.Methods, path)
}

// channelConfig is a service config while the channel has it.
type channelConfig struct {
	*ServiceConfig
	throttle *retry.Throttle // nil: retries are not throttled
	selector *selectorTurn   // nil: the methods' names decide
}

func newChannelConfig(sc *ServiceConfig) *channelConfig {
	return &channelConfig{ServiceConfig: sc, throttle: retry.NewThrottle(sc.throttling)}
}

// holds says that c is what channels make of sc.
func (c *channelConfig) holds(sc *ServiceConfig) bool {
	return c != nil && (c.ServiceConfig == sc || sc.json != "" && c.json == sc.json)
}

// with returns c, which may be nil, with another service config and Selector: c itself if
// they are what it has. What belongs to a service config stays with it.
func (c *channelConfig) with(sc *ServiceConfig, s rpcconfig.Selector) *channelConfig {
	same := c.holds(sc)
	switch {
	case same && c.selector.isFor(s):
		return c
	case same:
		return &channelConfig{c.ServiceConfig, c.throttle, newSelectorTurn(s)}
	case sc == noServiceConfig && s == nil:
		return emptyConfig
	}
	next := newChannelConfig(sc)
	next.selector = newSelectorTurn(s)
	return next
}

// usableConfig returns the service config that a resolver brought, nil if none.
func usableConfig(r *serviceconfig.ParseResult) (*ServiceConfig, error) {
	switch {
	case r == nil:
		return nil, nil
	case r.Err != nil:
		return nil, fmt.Errorf("error parsing service config: %w", r.Err)
	case r.Config == nil:
		return nil, nil
	}
	sc, ok := r.Config.(*ServiceConfig)
	if !ok {
		return nil, fmt.Errorf("illegal service config type: %T", r.Config) // not of ParseServiceConfig
	}
	return sc, nil
}

// GetMethodConfig returns what the channel's service config says of a method,
// "/service/method".
//
// Deprecated: applications have no use for it.
func (cc *ClientConn) GetMethodConfig(method string) MethodConfig {
	if c := cc.config.Load(); c != nil {
		return c.method(method)
	}
	return MethodConfig{}
}
