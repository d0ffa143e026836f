// SPDX-License-Identifier: Apache-2.0

// Package backendlabel is how LB policies that know more of an address than where it is
// tell the metrics of its subchannels (gRFC A94).
package backendlabel

import "google.golang.org/grpc/resolver"

// Labels are the values of optional labels; "" where there is nothing to say.
type Labels struct {
	BackendService string // grpc.lb.backend_service (gRFC A89)
	Locality       string // grpc.lb.locality (gRFC A78)
}

type labelsKey struct{}

// With returns the address with labels. A policy adds them to the addresses that it gives
// NewSubConn or UpdateAddresses. Addresses that differ in them are different addresses.
func With(a resolver.Address, l Labels) resolver.Address {
	a.Attributes = a.Attributes.WithValue(labelsKey{}, l)
	return a
}

// Of returns the labels of an address.
func Of(a resolver.Address) Labels {
	l, _ := a.Attributes.Value(labelsKey{}).(Labels)
	return l
}

type serviceKey struct{}

// WithService returns the state of a resolver with the name of the service that its endpoints
// are of, for the metrics of policies (gRFC A89).
func WithService(s resolver.State, service string) resolver.State {
	s.Attributes = s.Attributes.WithValue(serviceKey{}, service)
	return s
}

// ServiceOf returns the service of a state, "" if it has none.
func ServiceOf(s resolver.State) string {
	service, _ := s.Attributes.Value(serviceKey{}).(string)
	return service
}
