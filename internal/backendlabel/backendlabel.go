// SPDX-License-Identifier: Apache-2.0

// Package backendlabel lets LB policies attach metric labels to addresses. The metrics of the
// subchannels for these addresses carry the labels (gRFC A94).
package backendlabel

import "google.golang.org/grpc/resolver"

// Labels are the values of optional labels. A label that is "" is not known.
type Labels struct {
	BackendService string // grpc.lb.backend_service (gRFC A89)
	Locality       string // grpc.lb.locality (gRFC A78)
}

type labelsKey struct{}

// With returns the address with labels attached. A policy attaches them to the addresses that
// it passes to NewSubConn or UpdateAddresses. Addresses with different labels are different
// addresses.
func With(a resolver.Address, l Labels) resolver.Address {
	a.Attributes = a.Attributes.WithValue(labelsKey{}, l)
	return a
}

// Of returns the labels attached to an address.
func Of(a resolver.Address) Labels {
	l, _ := a.Attributes.Value(labelsKey{}).(Labels)
	return l
}

type serviceKey struct{}

// WithService returns the resolver state with the name of the service that its endpoints
// belong to. The metrics of policies use the name (gRFC A89).
func WithService(s resolver.State, service string) resolver.State {
	s.Attributes = s.Attributes.WithValue(serviceKey{}, service)
	return s
}

// ServiceOf returns the service name in a state, or "" if it has none.
func ServiceOf(s resolver.State) string {
	service, _ := s.Attributes.Value(serviceKey{}).(string)
	return service
}
