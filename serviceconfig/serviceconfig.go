// SPDX-License-Identifier: Apache-2.0

// Package serviceconfig holds the types by which resolvers, balancers and channels
// hand parsed service configs to each other; see grpc/doc/service_config.md.
//
// Experimental: this API may change in a later release.
package serviceconfig

// Config is a parsed service config. Only the library makes one.
type Config interface {
	isServiceConfig()
}

// LoadBalancingConfig is the parsed configuration of a balancer. A type becomes one
// by embedding the interface.
type LoadBalancingConfig interface {
	isLoadBalancingConfig()
}

// ParseResult is a parsed service config, or why there is none: exactly one of the
// two is set.
type ParseResult struct {
	Config Config
	Err    error
}
