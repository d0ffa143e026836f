// SPDX-License-Identifier: Apache-2.0

// Package serviceconfig has the types with which resolvers, balancers and channels pass parsed
// service configs to each other; see grpc/doc/service_config.md.
//
// Experimental: this API may change in a later release.
package serviceconfig

// Config is a parsed service config. Only this library makes values of this type.
type Config interface {
	isServiceConfig()
}

// LoadBalancingConfig is the parsed configuration of a balancer. A type implements it by embedding
// it.
type LoadBalancingConfig interface {
	isLoadBalancingConfig()
}

// ParseResult is a parsed service config, or the error of parsing it. Exactly one of the two fields
// is set.
type ParseResult struct {
	Config Config
	Err    error
}
