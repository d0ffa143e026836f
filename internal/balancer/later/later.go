// SPDX-License-Identifier: Apache-2.0

// Package later is how a policy has its children built when they are needed, and not before:
// a client may know of thousands of endpoints of which few get an RPC.
package later

// Children is implemented by the balancer.ClientConn of a balancer of endpointsharding whose
// children are not built before they are told to leave idleness. They are Idle until then, and what
// the resolver finds, or its errors, is kept for them. RPCs wait on their pickers, and wake nothing:
// who has this implemented calls their ExitIdle.
type Children interface {
	ChildrenLater() Mark
}

// Mark keeps the method from being implemented by chance.
type Mark struct{}
