// SPDX-License-Identifier: Apache-2.0

// Package later lets a policy delay building its children until they are needed: a client may know
// of thousands of endpoints of which few get an RPC.
package later

// Children is implemented by a balancer.ClientConn. A balancer of package endpointsharding that is
// built with it builds each child on the first call of the child's ExitIdle. Until then the child is
// Idle, and the balancer keeps the resolver's last state or error for it. RPCs that use its picker
// wait and do not wake it: the policy that implements Children calls ExitIdle.
type Children interface {
	ChildrenLater() Mark
}

// Mark is a type of this package, so that no other type implements Children by chance.
type Mark struct{}
