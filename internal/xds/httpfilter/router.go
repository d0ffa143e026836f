// SPDX-License-Identifier: Apache-2.0

package httpfilter

import (
	"errors"

	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
)

// Router is the terminal filter of each chain. After it an RPC is routed as the resources say
// (A39). The contents of its message are ignored.
type Router struct{}

// Types implements Kind.
func (Router) Types() []string { return []string{"envoy.extensions.filters.http.router.v3.Router"} }

// Sides implements Kind.
func (Router) Sides() Side { return Client | Server }

// Terminal implements Kind. It returns true.
func (Router) Terminal() bool { return true }

// Parse implements Kind. The Config is a Router.
func (Router) Parse(m Message) (Config, error) {
	return Router{}, m.Unmarshal(&routerv3.Router{})
}

// ParseOverride implements Kind. It always fails.
func (Router) ParseOverride(Message) (Config, error) {
	return nil, errors.New("the router has no overrides")
}
