// SPDX-License-Identifier: Apache-2.0

// Package dns registers the resolver for targets like dns:///host:port and
// dns://server/host:port. Package grpc has it without this package.
//
// All of this package may change or be removed in a later release.
package dns

import (
	"time"

	"google.golang.org/grpc/internal/resolver/dns"
	"google.golang.org/grpc/resolver"
)

func init() {
	resolver.Register(dns.NewBuilder())
}

// SetResolvingTimeout sets the timeout of one lookup, for all channels. The default is 30 seconds.
// It applies from the next lookup on.
func SetResolvingTimeout(timeout time.Duration) {
	dns.SetResolvingTimeout(timeout)
}

// SetMinResolutionInterval sets the shortest time between the end of one lookup and the start of
// the next, for all channels. The default is 30 seconds. If a channel asks for a lookup sooner, the
// lookup is delayed. After a failed lookup, the time to the next one is a back-off instead.
func SetMinResolutionInterval(d time.Duration) {
	dns.SetMinResolutionInterval(d)
}

// NewBuilder returns a builder of dns resolvers.
//
// Deprecated: import the package, or package grpc, and use resolver.Get("dns").
func NewBuilder() resolver.Builder {
	return dns.NewBuilder()
}
