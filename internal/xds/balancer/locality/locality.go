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

// Place is what an address has of its endpoint. Addresses that differ in it are different ones,
// so there is nothing in it that changes without the server.
type Place struct {
	ID resource.LocalityID
	// Hostname is that of the endpoint (A81, A101), "" if it has none.
	Hostname string
	// Proxy is the address of the proxy in front of it (A86), "" if there is none.
	Proxy string
}

type placeKey struct{}

// WithPlace returns the address with its place.
func WithPlace(a resolver.Address, p Place) resolver.Address {
	a.Attributes = a.Attributes.WithValue(placeKey{}, p)
	return a
}

// PlaceOf returns the place of an address, the zero value if it has none.
func PlaceOf(a resolver.Address) Place {
	p, _ := a.Attributes.Value(placeKey{}).(Place)
	return p
}

type healthKey struct{}

// SetHealth returns the endpoint with what the control plane says of its health.
func SetHealth(e resolver.Endpoint, h resource.Health) resolver.Endpoint {
	e.Attributes = e.Attributes.WithValue(healthKey{}, h)
	return e
}

// HealthOf returns the health of an endpoint, Unknown if nothing says it.
func HealthOf(e resolver.Endpoint) resource.Health {
	h, _ := e.Attributes.Value(healthKey{}).(resource.Health)
	return h
}
