// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"errors"
	"slices"

	"google.golang.org/grpc/balancer"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/resolver"
)

// NewSubConn implements balancer.ClientConn.
func (b *balancerWrapper) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	if len(addrs) == 0 {
		return nil, errors.New("grpc: cannot create SubConn with empty address list")
	}
	sub := newSubchannel(b, slices.Clone(addrs), opts)
	sub.followScale()
	if !b.ch.addSubConn(b, sub) {
		sub.unfollowScale()
		sub.node.Close()
		return nil, ErrClosing
	}
	if sub.unscale == nil {
		sub.rescale() // the limit may have changed before Channel.rescale could see sub
	}
	return sub, nil
}

// RemoveSubConn implements balancer.ClientConn.
func (b *balancerWrapper) RemoveSubConn(sc balancer.SubConn) {
	if sc != nil {
		sc.Shutdown()
	}
}

// UpdateAddresses implements balancer.ClientConn.
func (b *balancerWrapper) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	if sc == nil {
		return
	}
	//lint:ignore SA1019 balancers may still use it
	sc.UpdateAddresses(addrs)
}

// UpdateState implements balancer.ClientConn. RPCs use the new picker before the channel's new
// state is visible.
func (b *balancerWrapper) UpdateState(s balancer.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.ch.picks.set(s.Picker)
	b.ch.setState(s.ConnectivityState)
}

// ResolveNow implements balancer.ClientConn.
func (b *balancerWrapper) ResolveNow(resolver.ResolveNowOptions) {
	if !b.isClosed() {
		b.ch.resolveNow()
	}
}

// Target implements balancer.ClientConn.
func (b *balancerWrapper) Target() string { return b.ch.Name }

// MetricsRecorder implements balancer.ClientConn.
func (b *balancerWrapper) MetricsRecorder() estats.MetricsRecorder { return b.ch.opts.Recorders }
