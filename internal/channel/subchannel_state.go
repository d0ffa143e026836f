// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
)

// Ready is the connection for RPCs, nil while there is none.
func (sub *Subchannel) Ready() *Link { return sub.ready.Load() }

// setStateLocked changes the state and reports it. mu is held, so that reports keep the
// order of what they tell.
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
