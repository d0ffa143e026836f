// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"errors"

	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
)

// Router is the end of each chain: from there on routing goes by the resources (A39). What its
// message says is ignored.
type Router struct{}

// Types implements Kind.
func (Router) Types() []string { return []string{"envoy.extensions.filters.http.router.v3.Router"} }

// Sides implements Kind.
func (Router) Sides() Side { return Client | Server }

// Terminal implements Kind: it is true.
func (Router) Terminal() bool { return true }

// Parse implements Kind. The Config is a Router.
func (Router) Parse(m Message) (Config, error) {
	return Router{}, m.Unmarshal(&routerv3.Router{})
}

// ParseOverride implements Kind: it fails.
func (Router) ParseOverride(Message) (Config, error) {
	return nil, errors.New("the router has no overrides")
}
