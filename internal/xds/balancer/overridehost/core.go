// SPDX-License-Identifier: Apache-2.0

package overridehost

import (
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

// policy is the balancer, and the ClientConn of the one below. mu is not held in calls of others,
// but for UpdateState.
type policy struct {
	balancer.ClientConn
	child *gracefulswitch.Balancer

	mu       sync.Mutex
	closed   bool
	health   []resource.Health
	idle     time.Duration
	entries  map[string]*entry // by address
	last     balancer.State
	reported bool
	sweep    *time.Timer // nil while there is nothing to look for
}

// entry is an address of an endpoint. policy.mu guards it.
type entry struct {
	address   resolver.Address
	addresses *[]string // of the endpoint; not changed
	health    resource.Health
	sub       *subConn // nil: there is none
	used      time.Time
}

// subConn is one whose state is known. policy.mu guards it.
type subConn struct {
	balancer.SubConn
	policy   *policy
	address  string
	state    connectivity.State
	own      bool // the child has none to do with it (any more)
	listener func(balancer.SubConnState)
}

// picker does not change, but for what is known of sessions.
type picker struct {
	*policy
	child balancer.Picker
}
