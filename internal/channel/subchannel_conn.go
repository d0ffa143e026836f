// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
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
	sub.tearDown()
}

// GetOrBuildProducer implements balancer.SubConn.
func (sub *Subchannel) GetOrBuildProducer(b balancer.ProducerBuilder) (balancer.Producer, func()) {
	return sub.producers.get(b, func() any { return sub.ch.owner.ClientOf(sub) })
}

// UpdateAddresses implements balancer.SubConn. A connection, or an attempt to make one, gives way to
// another one, unless nothing has changed but attributes of the balancer. A subchannel that
// has failed still waits for the end of its pause, and of one that connects no state is reported anew.
func (sub *Subchannel) UpdateAddresses(addrs []resolver.Address) {
	sub.mu.Lock()
	same := slices.EqualFunc(sub.addrs, addrs, sameForConnections)
	if sub.state != connectivity.Shutdown {
		sub.addrs = slices.Clone(addrs)
	}
	if same || sub.current == nil && sub.state != connectivity.Connecting {
		if !same {
			sub.abandonDialLocked() // one to be beside another, which was lost meanwhile
		}
		sub.mu.Unlock()
		return
	}
	links := sub.resignLocked()
	sub.abandonLocked()
	sub.retries = 0
	sub.beginLocked()
	sub.mu.Unlock()
	for _, l := range links {
		l.client.GracefulClose()
	}
}

// sameForConnections compares what may make a difference to a connection.
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
