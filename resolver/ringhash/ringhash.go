// SPDX-License-Identifier: Apache-2.0

// Package ringhash lets a resolver set the key by which the policy ring_hash places an endpoint on
// its ring (gRFC A76), so that the endpoint keeps its places when its address changes.
//
// Experimental: this API may change in a later release.
package ringhash

import "google.golang.org/grpc/resolver"

type key struct{}

// SetHashKey returns a copy of the endpoint with a key. Different endpoints should have different
// keys.
func SetHashKey(endpoint resolver.Endpoint, hashKey string) resolver.Endpoint {
	endpoint.Attributes = endpoint.Attributes.WithValue(key{}, hashKey)
	return endpoint
}

// HashKey returns the key of an endpoint, or "" if it has none. The policy then uses the first
// address as the key.
func HashKey(endpoint resolver.Endpoint) string {
	k, _ := endpoint.Attributes.Value(key{}).(string)
	return k
}
