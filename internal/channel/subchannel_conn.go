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

// UpdateAddresses implements balancer.SubConn. The connection stays if it is to the first
// address.
func (sub *Subchannel) UpdateAddresses(addrs []resolver.Address) {
	sub.mu.Lock()
	if sub.state == connectivity.Shutdown || slices.EqualFunc(sub.addrs, addrs, resolver.Address.Equal) {
		sub.mu.Unlock()
		return
	}
	sub.addrs = slices.Clone(addrs)
	l := sub.current
	if l != nil && len(addrs) > 0 && sameServer(addrs[0], *l.addr) {
		sub.mu.Unlock()
		return
	}
	again := l != nil || sub.state == connectivity.Connecting || sub.state == connectivity.TransientFailure
	links := sub.resignLocked()
	sub.abandonLocked()
	if again {
		sub.retries = 0
		sub.state = connectivity.Idle // in between; it is not reported
		sub.beginLocked()
	}
	sub.mu.Unlock()
	for _, l := range links {
		l.client.GracefulClose()
	}
}

// sameServer compares what makes a difference to a connection.
func sameServer(a, b resolver.Address) bool {
	return a.Addr == b.Addr && a.ServerName == b.ServerName && a.Attributes.Equal(b.Attributes)
}

// String names the subchannel in logs.
func (sub *Subchannel) String() string {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return "SubConn(" + addressList(sub.addrs) + ")"
}
