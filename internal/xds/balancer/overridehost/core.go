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

// policy is the balancer, and the ClientConn of its child. mu guards the fields below it. It is
// not held during calls of other objects, except UpdateState.
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
	sweep    *time.Timer // nil if there is no SubConn to look for
}

// entry is one address of an endpoint. policy.mu guards it.
type entry struct {
	address   resolver.Address
	addresses *[]string // all addresses of the endpoint, this one first (A61); must not be changed
	health    resource.Health
	sub       *subConn // nil if there is none
	used      time.Time
}

// subConn is a SubConn that knows its address and state. policy.mu guards it.
type subConn struct {
	balancer.SubConn
	policy   *policy
	address  string
	made     resolver.Address // the address as it was when the SubConn was made
	state    connectivity.State
	own      bool // the policy keeps it for sessions; the child does not use it (any more)
	wanted   bool // a session's RPC has picked it, or waits for it, since its state last changed
	listener func(balancer.SubConnState)
}

// picker is immutable, except for what the policy knows about sessions.
type picker struct {
	*policy
	child balancer.Picker
}
