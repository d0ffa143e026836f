// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/resolver"
)

// Connect implements balancer.SubConn.
func (sub *Subchannel) Connect() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.state == connectivity.Idle {
		sub.beginLocked()
	}
}

// Shutdown implements balancer.SubConn.
func (sub *Subchannel) Shutdown() {
	sub.ch.removeSubConn(sub)
	var left []*Link
	defer func() { sub.ch.retireApart(left, nil) }() // also if a producer's end leaves by a panic or Goexit
	sub.tearDown(&left)
}

// GetOrBuildProducer implements balancer.SubConn.
func (sub *Subchannel) GetOrBuildProducer(b balancer.ProducerBuilder) (balancer.Producer, func()) {
	return sub.producers.get(b, func() any { return sub.ch.owner.ClientOf(sub) })
}

// TraceError writes an error of one of the subchannel's producers into its trace.
func (sub *Subchannel) TraceError(what string) { sub.node.Trace(channelz.Error, what, nil) }

// UpdateAddresses implements balancer.SubConn. A new attempt to connect replaces the connection, or
// the attempt to make one, unless only BalancerAttributes have changed. A subchannel in
// TransientFailure still waits for the end of its pause. A subchannel in Connecting does not report
// that state again.
func (sub *Subchannel) UpdateAddresses(addrs []resolver.Address) {
	sub.mu.Lock()
	same := slices.EqualFunc(sub.addrs, addrs, sameForConnections)
	if sub.state != connectivity.Shutdown {
		sub.addrs = slices.Clone(addrs)
	}
	if same || sub.current == nil && sub.state != connectivity.Connecting {
		if !same {
			sub.abandonDialLocked() // an attempt to make a second connection, when the first has been lost meanwhile
		}
		sub.mu.Unlock()
		return
	}
	links := sub.resignLocked()
	sub.abandonLocked()
	sub.retries = 0
	sub.setStateLocked(connectivity.Connecting, nil)
	sub.mu.Unlock()
	sub.ch.retireApart(links, sub.beginAnew)
}

// beginAnew starts an attempt to connect to addresses that have changed, unless something else has decided meanwhile.
func (sub *Subchannel) beginAnew() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.state == connectivity.Connecting && sub.current == nil && sub.cancel == nil {
		sub.beginLocked()
	}
}

// sameForConnections reports whether a and b are equal in all that may make a difference to a
// connection.
func sameForConnections(a, b resolver.Address) bool {
	a.BalancerAttributes, b.BalancerAttributes = nil, nil
	return a.Equal(b)
}

// String names the subchannel in logs.
func (sub *Subchannel) String() string {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return "SubConn(" + addressList(sub.addrs) + ")"
}
