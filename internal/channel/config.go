// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/rpcconfig"
)

// config is the service config that a channel uses, with the retry throttle and the Selector that
// go with it.
type config struct {
	*ServiceConfig
	throttle *retry.Throttle // nil: retries are not throttled
	selector *selectorTurn   // nil: a method's name alone decides its configuration

	// assumed says that no answer of the resolver has settled this: it is the fallback, which RPCs have until there
	// is an answer. So a first answer whose service config is invalid is still the first.
	assumed bool
}

func newConfig(sc *ServiceConfig) *config {
	return &config{ServiceConfig: sc, throttle: retry.NewThrottle(sc.throttling)}
}

// holds reports whether c was made from sc, or from a service config with the same JSON.
func (c *config) holds(sc *ServiceConfig) bool {
	return c != nil && (c.ServiceConfig == sc || sc.json != "" && c.json == sc.json)
}

// with returns a config with the service config sc and the Selector s, which an answer has settled. It returns c
// itself if c is that. If only the Selector changes, the throttle of c stays in use. c may be nil.
func (c *config) with(sc *ServiceConfig, s rpcconfig.Selector) *config {
	same := c.holds(sc)
	switch {
	case same && !c.assumed && c.selector.isFor(s):
		return c
	case sc == NoServiceConfig && s == nil:
		return emptyConfig
	case same:
		return &config{ServiceConfig: c.ServiceConfig, throttle: c.throttle, selector: newSelectorTurn(s)}
	}
	next := newConfig(sc)
	next.selector = newSelectorTurn(s)
	return next
}

// assume returns a config with the service config sc that no answer has settled.
func assume(sc *ServiceConfig) *config {
	c := newConfig(sc)
	c.assumed = true
	return c
}

// settled returns c, or nil if no answer has settled c. c may be nil.
func (c *config) settled() *config {
	if c != nil && c.assumed {
		return nil
	}
	return c
}

// emptyConfig is the config of channels without a service config, and of RPCs on channels that have
// not yet got a valid one.
var emptyConfig = newConfig(NoServiceConfig)
