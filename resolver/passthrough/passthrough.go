// SPDX-License-Identifier: Apache-2.0

// Package passthrough registers the resolver for targets like passthrough:///host:port. The dialer
// gets the endpoint unchanged. Package grpc has it without this package.
package passthrough

import (
	"google.golang.org/grpc/internal/resolver/passthrough"
	"google.golang.org/grpc/resolver"
)

func init() {
	resolver.Register(passthrough.Builder{})
}
