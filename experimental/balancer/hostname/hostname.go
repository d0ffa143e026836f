// SPDX-License-Identifier: Apache-2.0

// Package hostname lets a resolver tell the balancer the hostname of an endpoint (gRFC
// A81).
//
// Experimental: this API may change in a later release.
package hostname

import "google.golang.org/grpc/resolver"

type key struct{}

// Set returns a copy of endpoint that has hostname.
func Set(endpoint resolver.Endpoint, hostname string) resolver.Endpoint {
	endpoint.Attributes = endpoint.Attributes.WithValue(key{}, hostname)
	return endpoint
}

// FromEndpoint returns the hostname that Set gave the endpoint, or "" if it has none.
func FromEndpoint(endpoint resolver.Endpoint) string {
	name, _ := endpoint.Attributes.Value(key{}).(string)
	return name
}
