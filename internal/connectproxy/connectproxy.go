// SPDX-License-Identifier: Apache-2.0

// Package connectproxy says on an address which HTTP CONNECT proxy stands before it (gRFC A86),
// for the transport that dials it.
package connectproxy

import "google.golang.org/grpc/resolver"

type key struct{}

// With returns the address, which is reached through the proxy at "host:port".
func With(a resolver.Address, proxy string) resolver.Address {
	a.Attributes = a.Attributes.WithValue(key{}, proxy)
	return a
}

// Of returns the proxy before an address, "" if there is none.
func Of(a resolver.Address) string {
	proxy, _ := a.Attributes.Value(key{}).(string)
	return proxy
}
