// SPDX-License-Identifier: Apache-2.0

// Package dns registers the resolver for targets like dns:///host:port and
// dns://server/host:port. Package grpc imports it.
//
// All of it may change or go in a later release.
package dns

import (
	"time"

	"google.golang.org/grpc/internal/resolver/dns"
	"google.golang.org/grpc/resolver"
)

func init() {
	resolver.Register(dns.NewBuilder())
}

// SetResolvingTimeout sets the longest that one lookup may take, for all channels: 30
// seconds by default. It applies from the next lookup on.
func SetResolvingTimeout(timeout time.Duration) {
	dns.SetResolvingTimeout(timeout)
}

// SetMinResolutionInterval sets the least time between the end of one lookup and the
// start of the next, for all channels: 30 seconds by default. What a channel wants
// sooner waits. Lookups that fail are repeated with a back-off instead.
func SetMinResolutionInterval(d time.Duration) {
	dns.SetMinResolutionInterval(d)
}

// NewBuilder returns a builder of dns resolvers.
//
// Deprecated: import the package, or package grpc, and use resolver.Get("dns").
func NewBuilder() resolver.Builder {
	return dns.NewBuilder()
}
