// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync/atomic"

	"google.golang.org/grpc/internal/xds/resource"
)

// routes holds the current version of one RouteConfiguration. Chains of several editions may
// share it.
type routes struct {
	name    string
	cancel  func()
	current atomic.Pointer[routing] // nil until there is a RouteConfiguration or an error
}

// routing is a RouteConfiguration, or the error that says why there is none.
type routing struct {
	config *resource.RouteConfig
	err    error
}

// fixedRoutes returns the routes that a Listener resource contains itself.
func fixedRoutes(c *resource.RouteConfig) *routes {
	r := &routes{}
	r.current.Store(&routing{config: c})
	return r
}
