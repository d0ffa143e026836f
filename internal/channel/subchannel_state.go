// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
)

// Ready returns the connection for RPCs, or nil while there is none.
func (sub *Subchannel) Ready() *Link { return sub.ready.Load() }

// setStateLocked changes the state and queues a report of it. The caller holds mu, so reports come
// in the order of the states.
func (sub *Subchannel) setStateLocked(s connectivity.State, err error) {
	if sub.state == s {
		return
	}
	sub.state = s
	if s == connectivity.Ready {
		sub.ready.Store(sub.current)
	} else {
		sub.ready.Store(nil)
	}
	sub.node.SetState(s)
	sub.owner.tell(sub, balancer.SubConnState{ConnectivityState: s, ConnectionError: err})
}
