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

// policy is the balancer, and the ClientConn of the one below. mu guards what it reports; it is
// not held in calls of others, but for UpdateState.
type policy struct {
	balancer.ClientConn
	opts  buildoptions.Kept
	child gracefulswitch.Balancer
	// security has the TLS settings of the cluster. Addresses refer to it.
	security *handshake.Client
	// scale is how many connections a SubConn may have; addresses refer to it too.
	scale scaling.Limit

	// Used by the policy's own calls alone.
	current  *dependency.Cluster
	reports  *reports // nil: nobody is told
	requests *requests

	mu       sync.Mutex
	settings *settings
	prepared prepared
	last     balancer.State
	reported bool
}

// prepared is what an address got. The endpoints of a locality share their attributes mostly, and
// are to share what these become.
type prepared struct {
	settings      *settings
	before, after *attributes.Attributes
}
