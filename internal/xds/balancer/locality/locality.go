// SPDX-License-Identifier: Apache-2.0

// Package locality attaches localities to endpoints and addresses, for the policies of xDS.
package locality

import (
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

// Info is an endpoint's locality, and the weight of that locality within its priority.
type Info struct {
	ID     resource.LocalityID
	Weight uint32
}

type key struct{}

// Set returns the endpoint with its locality attached.
func Set(e resolver.Endpoint, i Info) resolver.Endpoint {
	e.Attributes = e.Attributes.WithValue(key{}, i)
	return e
}

// Of returns the locality of an endpoint. ok is false if it has none.
func Of(e resolver.Endpoint) (i Info, ok bool) {
	i, ok = e.Attributes.Value(key{}).(Info)
	return i, ok
}

// Place has what an address needs to know about its endpoint. Addresses with different places
// are different addresses, so a Place must not have anything that can change while the server
// stays the same.
type Place struct {
	ID resource.LocalityID
	// Hostname is the hostname of the endpoint (A81, A101), or "" if it has none.
	Hostname string
	// Proxy is the address of the proxy by way of which connections are made (A86), or "" if there is none.
	Proxy string
}

type placeKey struct{}

// WithPlace returns the address with its place attached.
func WithPlace(a resolver.Address, p Place) resolver.Address {
	a.Attributes = a.Attributes.WithValue(placeKey{}, p)
	return a
}

// PlaceOf returns the place of an address, or the zero value if it has none.
func PlaceOf(a resolver.Address) Place {
	p, _ := a.Attributes.Value(placeKey{}).(Place)
	return p
}

type healthKey struct{}

// SetHealth returns the endpoint with the health state that the control plane reports.
func SetHealth(e resolver.Endpoint, h resource.Health) resolver.Endpoint {
	e.Attributes = e.Attributes.WithValue(healthKey{}, h)
	return e
}

// HealthOf returns the health state of an endpoint, or Unknown if it has none.
func HealthOf(e resolver.Endpoint) resource.Health {
	h, _ := e.Attributes.Value(healthKey{}).(resource.Health)
	return h
}
