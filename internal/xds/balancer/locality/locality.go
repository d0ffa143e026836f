// SPDX-License-Identifier: Apache-2.0

// Package locality says on endpoints which locality they are in, for the policies of xDS.
package locality

import (
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

// Info is an endpoint's locality, and the weight that it has among those of its priority.
type Info struct {
	ID     resource.LocalityID
	Weight uint32
}

type key struct{}

// Set returns the endpoint with its locality.
func Set(e resolver.Endpoint, i Info) resolver.Endpoint {
	e.Attributes = e.Attributes.WithValue(key{}, i)
	return e
}

// Of returns the locality of an endpoint; ok is false if it has none.
func Of(e resolver.Endpoint) (i Info, ok bool) {
	i, ok = e.Attributes.Value(key{}).(Info)
	return i, ok
}
