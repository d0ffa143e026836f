// SPDX-License-Identifier: Apache-2.0

package endpointsharding

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/serial"
	"google.golang.org/grpc/resolver"
)

// child is the policy of one endpoint.
type child struct {
	serial.Child
	conn     childConn
	exitIdle func() // immutable; made once, as every ChildState has it

	// The sharding's lock guards the rest. Only calls from above set endpoint, so
	// they may read it without.
	endpoint resolver.Endpoint
	state    balancer.State
	live     bool // it is one of the sharding's children
}

// waiting is the picker of a child that has reported nothing yet.
var waiting = base.NewErrPicker(balancer.ErrNoSubConnAvailable)

// newChild returns a child that is not built.
func newChild(b *sharding) *child {
	c := &child{state: balancer.State{ConnectivityState: connectivity.Connecting, Picker: waiting}}
	c.conn = childConn{ClientConn: b.cc, parent: b, child: c}
	c.Init(&c.conn)
	// Who asks may be in the middle of a report of this child, or of another, or hold
	// a lock that the child's next report will take.
	c.exitIdle = func() { go c.ExitIdle() }
	return c
}

// childConn is where a child's reports go.
type childConn struct {
	balancer.ClientConn
	parent *sharding
	child  *child
}

// BuildOptions implements buildoptions.Owner.
func (cc *childConn) BuildOptions() balancer.BuildOptions { return cc.parent.opts.Of(cc.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (cc *childConn) UpdateState(s balancer.State) {
	cc.parent.childReported(cc.child, s)
}
