// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/internal/same"
)

// Address is one place that a channel can connect to.
type Address struct {
	// Addr is the address that the dialer connects to, usually "host:port".
	Addr string
	// ServerName is the name that the server must prove with its certificate, instead of the
	// channel's authority. It must not come from the network unless the network is trusted.
	ServerName string
	// Attributes are for the subchannel: addresses with different Attributes get different
	// connections.
	Attributes *attributes.Attributes
	// BalancerAttributes are for the balancer, and make no difference to a
	// connection.
	//
	// Deprecated: use the Attributes of Endpoint.
	BalancerAttributes *attributes.Attributes
	// Metadata is data of any type for the balancer. Values that can't be compared with == count as
	// different.
	//
	// Deprecated: use Attributes.
	Metadata any
}

// Equal reports whether two addresses are equal in every field. Attributes are compared by their
// contents.
func (a Address) Equal(o Address) bool {
	return a.Addr == o.Addr && a.ServerName == o.ServerName &&
		a.Attributes.Equal(o.Attributes) &&
		a.BalancerAttributes.Equal(o.BalancerAttributes) &&
		same.Value(a.Metadata, o.Metadata)
}

// String returns the address, the server's name and the attributes as text for people.
func (a Address) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "{Addr: %q, ServerName: %q, ", a.Addr, a.ServerName)
	if a.Attributes != nil {
		fmt.Fprintf(&s, "Attributes: %v, ", a.Attributes)
	}
	if a.BalancerAttributes != nil {
		fmt.Fprintf(&s, "BalancerAttributes: %v", a.BalancerAttributes)
	}
	s.WriteByte('}')
	return s.String()
}

// Endpoint is one server, which may be reached at several addresses.
type Endpoint struct {
	// Addresses are the server's addresses, in the order they should be tried.
	Addresses []Address
	// Attributes are for the balancer.
	Attributes *attributes.Attributes
}
