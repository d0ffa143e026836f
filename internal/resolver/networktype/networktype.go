// SPDX-License-Identifier: Apache-2.0

// Package networktype carries the network of an address, like "unix", from a resolver
// to the default dialer.
package networktype

import "google.golang.org/grpc/resolver"

type key struct{}

// Set returns the address with its network, a name that net.Dial takes.
func Set(a resolver.Address, network string) resolver.Address {
	a.Attributes = a.Attributes.WithValue(key{}, network)
	return a
}

// Get returns the address's network. If ok is false it has none, which means "tcp".
func Get(a resolver.Address) (network string, ok bool) {
	network, ok = a.Attributes.Value(key{}).(string)
	return network, ok
}
