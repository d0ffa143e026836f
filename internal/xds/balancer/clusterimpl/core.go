// SPDX-License-Identifier: Apache-2.0

package clusterimpl

import (
	"sync"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/scaling"
	"google.golang.org/grpc/internal/xds/dependency"
	"google.golang.org/grpc/internal/xds/handshake"
)

// policy is the balancer, and the ClientConn of its child. mu guards the fields below it. It is
// not held during calls of other objects, except UpdateState.
type policy struct {
	balancer.ClientConn
	opts  buildoptions.Kept
	child gracefulswitch.Balancer
	// security has the TLS settings of the cluster. The attributes of addresses refer to it.
	security *handshake.Client
	// scale is the number of connections that a SubConn may have. The attributes of addresses
	// refer to it too.
	scale scaling.Limit

	// Only the methods of balancer.Balancer use these fields.
	current  *dependency.Cluster
	reports  *reports // nil if there are no load reports
	requests *requests

	mu       sync.Mutex
	settings *settings
	prepared prepared
	last     balancer.State
	reported bool
}

// prepared caches the attributes that an address gets. The endpoints of a locality mostly share
// their attributes, and so they share the resulting attributes too.
type prepared struct {
	settings      *settings
	before, after *attributes.Attributes
}
