// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/rpcconfig"
)

// Config is a service config while the channel has it.
type Config struct {
	*ServiceConfig
	throttle *retry.Throttle // nil: retries are not throttled
	selector *selectorTurn   // nil: the methods' names decide
}

func newConfig(sc *ServiceConfig) *Config {
	return &Config{ServiceConfig: sc, throttle: retry.NewThrottle(sc.throttling)}
}

// holds says that c is what channels make of sc.
func (c *Config) holds(sc *ServiceConfig) bool {
	return c != nil && (c.ServiceConfig == sc || sc.json != "" && c.json == sc.json)
}

// with returns c, which may be nil, with sc and s as service config and Selector. That is c
// itself if it has both. A service config that stays keeps its throttle.
func (c *Config) with(sc *ServiceConfig, s rpcconfig.Selector) *Config {
	same := c.holds(sc)
	switch {
	case same && c.selector.isFor(s):
		return c
	case same:
		return &Config{c.ServiceConfig, c.throttle, newSelectorTurn(s)}
	case sc == NoServiceConfig && s == nil:
		return emptyConfig
	}
	next := newConfig(sc)
	next.selector = newSelectorTurn(s)
	return next
}

// emptyConfig is the Config of channels without a service config, and of RPCs that were begun
// before the first valid one.
var emptyConfig = newConfig(NoServiceConfig)
