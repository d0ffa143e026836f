// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync/atomic"

	"google.golang.org/grpc/internal/xds/resource"
)

// routes are those of one RouteConfiguration, which changes: chains of several editions may go
// by them.
type routes struct {
	name    string
	cancel  func()
	current atomic.Pointer[routing] // nil until something is known
}

// routing is a RouteConfiguration, or why there is none.
type routing struct {
	config *resource.RouteConfig
	err    error
}

// fixedRoutes are those of the Listener itself.
func fixedRoutes(c *resource.RouteConfig) *routes {
	r := &routes{}
	r.current.Store(&routing{config: c})
	return r
}
