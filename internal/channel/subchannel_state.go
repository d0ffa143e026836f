// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
)

// Ready returns the connection for RPCs, or nil while there is none.
func (sub *Subchannel) Ready() *Link { return sub.ready.Load() }

// exposeLocked shows RPCs the connection that they may use, or that there is none: they wait for the next picker
// then. One that is barred, but not removed yet, is shown if there may be others beside it: RPCs wait for a place.
func (sub *Subchannel) exposeLocked() {
	l := sub.current
	if sub.state != connectivity.Ready || l != nil && sub.scale.Load() == nil && l.isUnfit() {
		l = nil
	}
	sub.ready.Store(l)
}

// setStateLocked changes the state and queues a report of it. The caller holds mu, so reports come
// in the order of the states.
func (sub *Subchannel) setStateLocked(s connectivity.State, err error) {
	if sub.state == s {
		return
	}
	sub.state = s
	sub.exposeLocked()
	sub.node.SetState(s)
	sub.owner.tell(sub, balancer.SubConnState{ConnectivityState: s, ConnectionError: err})
}
