// SPDX-License-Identifier: Apache-2.0

// Package passthrough registers the resolver for targets like
// passthrough:///host:port, which gives the dialer the endpoint as it stands. Package
// grpc imports it.
package passthrough

import (
	"google.golang.org/grpc/internal/resolver/passthrough"
	"google.golang.org/grpc/resolver"
)

func init() {
	resolver.Register(passthrough.Builder{})
}
