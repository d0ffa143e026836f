// SPDX-License-Identifier: Apache-2.0

// Package weight lets a resolver tell the balancer how much load an endpoint is to get,
// relative to others.
//
// Experimental: this API may change in a later release.
package weight

import "google.golang.org/grpc/resolver"

// EndpointInfo is what is known of an endpoint's weight.
type EndpointInfo struct {
	// Weight is the share of the load that the endpoint gets, in relation to the sum of
	// all. 0: it is not known.
	Weight uint32
}

type key struct{}

// Equal says whether o is an EndpointInfo of the same weight.
func (e EndpointInfo) Equal(o any) bool {
	other, ok := o.(EndpointInfo)
	return ok && other == e
}

// Set returns the endpoint with a weight. The one that was given is not changed.
func Set(endpoint resolver.Endpoint, epInfo EndpointInfo) resolver.Endpoint {
	endpoint.Attributes = endpoint.Attributes.WithValue(key{}, epInfo)
	return endpoint
}

// FromEndpoint returns the weight that Set gave an endpoint, the zero value if none.
func FromEndpoint(endpoint resolver.Endpoint) EndpointInfo {
	info, _ := endpoint.Attributes.Value(key{}).(EndpointInfo)
	return info
}
