// SPDX-License-Identifier: Apache-2.0

// Package credsmode has what load balancers and credentials have to agree on beyond the
// credentials' own API: the modes of a credentials.Bundle, and the cluster that an address
// belongs to.
package credsmode

import (
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"
)

// The modes that a credentials.Bundle for Google's services knows. Package grpclb asks for
// them, with any bundle.
const (
	// Fallback is for servers that the resolver found, without a load balancer.
	Fallback = "fallback"
	// BackendFromBalancer is for servers that a load balancer named.
	BackendFromBalancer = "backend-from-balancer"
	// Balancer is for the load balancer itself.
	Balancer = "balancer"
)

type clusterKey struct{}

// SetCluster returns addr with the name of the xDS cluster that it was found through, for
// credentials that go by it.
func SetCluster(addr resolver.Address, name string) resolver.Address {
	addr.Attributes = addr.Attributes.WithValue(clusterKey{}, name)
	return addr
}

// Cluster returns what SetCluster put into the attributes of an address, "" if nothing.
func Cluster(attrs *attributes.Attributes) string {
	name, _ := attrs.Value(clusterKey{}).(string)
	return name
}
