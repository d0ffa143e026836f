// SPDX-License-Identifier: Apache-2.0

// Package credsmode has what load balancers and credentials must agree on beyond the API of
// package credentials: the modes of a credentials.Bundle, and the cluster that an address
// belongs to.
package credsmode

import (
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/resolver"
)

// The modes that a credentials.Bundle for Google's services knows. Package grpclb asks any
// bundle for these modes.
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
// credentials that depend on the cluster.
func SetCluster(addr resolver.Address, name string) resolver.Address {
	addr.Attributes = addr.Attributes.WithValue(clusterKey{}, name)
	return addr
}

// Cluster returns the name that SetCluster put into the attributes of an address, or "" if
// there is none.
func Cluster(attrs *attributes.Attributes) string {
	name, _ := attrs.Value(clusterKey{}).(string)
	return name
}
