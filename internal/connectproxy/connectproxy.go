// SPDX-License-Identifier: Apache-2.0

// Package connectproxy stores, in an address, the HTTP CONNECT proxy through which the transport
// must connect to it (gRFC A86).
package connectproxy

import "google.golang.org/grpc/resolver"

type key struct{}

// With returns the address with the proxy through which to connect to it. proxy is "host:port".
func With(a resolver.Address, proxy string) resolver.Address {
	a.Attributes = a.Attributes.WithValue(key{}, proxy)
	return a
}

// Of returns the proxy of an address, or "" if it has none.
func Of(a resolver.Address) string {
	proxy, _ := a.Attributes.Value(key{}).(string)
	return proxy
}
