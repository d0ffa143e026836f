// SPDX-License-Identifier: Apache-2.0

// Package ringhash lets a resolver say by which key the policy ring_hash places an
// endpoint on its ring (gRFC A76), so that it stays there when its address changes.
//
// Experimental: this API may change in a later release.
package ringhash

import "google.golang.org/grpc/resolver"

type key struct{}

// SetHashKey returns the endpoint with a key. The one that was given is not changed.
// Endpoints should have different keys.
func SetHashKey(endpoint resolver.Endpoint, hashKey string) resolver.Endpoint {
	endpoint.Attributes = endpoint.Attributes.WithValue(key{}, hashKey)
	return endpoint
}

// HashKey returns the key of an endpoint, empty without one: its first address counts
// then.
func HashKey(endpoint resolver.Endpoint) string {
	k, _ := endpoint.Attributes.Value(key{}).(string)
	return k
}
