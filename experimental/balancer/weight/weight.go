// SPDX-License-Identifier: Apache-2.0

// Package weight lets a resolver tell the balancer how much load an endpoint should get, relative to
// others.
//
// Experimental: this API may change in a later release.
package weight

import "google.golang.org/grpc/resolver"

// EndpointInfo says how much load an endpoint should get.
type EndpointInfo struct {
	// Weight, divided by the sum of all endpoints' weights, is the endpoint's share of the load.
	// 0 means that the weight is not known.
	Weight uint32
}

type key struct{}

// Equal reports whether o is an EndpointInfo with the same weight.
func (e EndpointInfo) Equal(o any) bool {
	other, ok := o.(EndpointInfo)
	return ok && other == e
}

// Set returns a copy of endpoint that has the weight.
func Set(endpoint resolver.Endpoint, epInfo EndpointInfo) resolver.Endpoint {
	endpoint.Attributes = endpoint.Attributes.WithValue(key{}, epInfo)
	return endpoint
}

// FromEndpoint returns the weight that Set gave the endpoint, or the zero value if it has none.
func FromEndpoint(endpoint resolver.Endpoint) EndpointInfo {
	info, _ := endpoint.Attributes.Value(key{}).(EndpointInfo)
	return info
}
