// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"google.golang.org/grpc/internal/balancer/pickfirst"
	"google.golang.org/grpc/internal/channel"
	internalserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
)

// PickFirstBalancerName is the name of the balancer that a channel uses if its
// service config names none.
//
// Deprecated: use package balancer/pickfirst.
var PickFirstBalancerName = pickfirst.Name

// MethodConfig is what a service config sets for a method.
//
// Deprecated: applications have no use for it.
type MethodConfig = internalserviceconfig.MethodConfig

// ServiceConfig is a parsed service config.
//
// Deprecated: applications have no use for it. To pass a parsed service config on, use
// serviceconfig.Config.
type ServiceConfig struct {
	serviceconfig.Config

	// Methods has the settings of methods. Its keys are "/service/method", "/service/" for all
	// methods of a service, and "" for all methods.
	Methods map[string]MethodConfig

	parsed *channel.ServiceConfig
}

// parseServiceConfig parses a service config's JSON (service_config.md).
func parseServiceConfig(js string) *serviceconfig.ParseResult {
	parsed, err := channel.ParseServiceConfig(js)
	if err != nil {
		return &serviceconfig.ParseResult{Err: err}
	}
	return &serviceconfig.ParseResult{Config: &ServiceConfig{Methods: parsed.Methods, parsed: parsed}}
}

// GetMethodConfig returns what the channel's service config sets for a method,
// "/service/method". A retry policy in it has at most as many attempts as
// [WithMaxCallAttempts] allows.
//
// Deprecated: applications have no use for it.
func (cc *ClientConn) GetMethodConfig(method string) MethodConfig {
	config := cc.channel.MethodConfig(method)
	if p := config.RetryPolicy; p != nil && p.MaxAttempts > cc.opts.maxAttempts {
		bounded := *p
		bounded.MaxAttempts = cc.opts.maxAttempts
		config.RetryPolicy = &bounded
	}
	return config
}
