// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/resolver"
)

// balancerWrapper is the channel as its balancer sees it, from one idle mode to the
// next. Everything that the balancer is told goes through calls, one at a time.
type balancerWrapper struct {
	internal.ClientConnSeal

	// Immutable.
	ch *Channel

	policy gracefulswitch.Balancer
	config atomic.Pointer[ServiceConfig] // the last that policy was given; nil before

	calls serializer.Serializer

	mu     sync.Mutex // held while the channel takes a state, so that they keep their order
	closed bool
}

func newBalancerWrapper(ch *Channel) *balancerWrapper {
	b := &balancerWrapper{ch: ch}
	b.policy.Init(b)
	return b
}

// BuildOptions implements gracefulswitch.Owner.
func (b *balancerWrapper) BuildOptions() balancer.BuildOptions {
	ch := b.ch
	return balancer.BuildOptions{
		DialCreds:       ch.opts.Creds,
		CredsBundle:     ch.opts.Bundle,
		Dialer:          ch.opts.Dialer,
		Authority:       ch.authority,
		CustomUserAgent: ch.opts.Transport.UserAgent,
		ChannelzParent:  ch.node,
		Target:          ch.Parsed(),
	}
}

// update gives the balancer what the resolver found, and returns what it thinks of it.
func (b *balancerWrapper) update(s resolver.State, sc *ServiceConfig) error {
	b.config.Store(sc)
	config := sc.balancerConfig()
	var err error
	b.wait(func() {
		err = b.policy.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: config})
	})
	return err
}

// wait runs f in its turn, and returns when it has run. After close it does nothing.
func (b *balancerWrapper) wait(f func()) {
	done := make(chan struct{})
	if b.calls.Do(func() {
		defer close(done)
		if !b.isClosed() {
			f()
		}
	}) {
		<-done
	}
}

func (b *balancerWrapper) resolverError(err error) {
	b.calls.Do(func() {
		if !b.isClosed() {
			b.policy.ResolverError(err)
		}
	})
}

func (b *balancerWrapper) exitIdle() {
	b.calls.Go(func() {
		if !b.isClosed() {
			b.policy.ExitIdle()
		}
	})
}

// close tells the balancer nothing more but Close. What it returns is closed once that has
// returned.
func (b *balancerWrapper) close() <-chan struct{} {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	done := make(chan struct{})
	b.calls.Go(func() {
		defer close(done)
		b.policy.Close()
	})
	b.calls.Close()
	return done
}

func (b *balancerWrapper) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// NewSubConn implements balancer.ClientConn.
func (b *balancerWrapper) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	if len(addrs) == 0 {
		return nil, errors.New("grpc: cannot create SubConn with empty address list")
	}
	sub := newSubchannel(b, slices.Clone(addrs), opts)
	if !b.ch.addSubConn(b, sub) {
		sub.node.Close()
		return nil, ErrClosing
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

// UpdateState implements balancer.ClientConn. RPCs see the picker before anybody sees
// the state.
func (b *balancerWrapper) UpdateState(s balancer.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.ch.picks.set(s.Picker)
	b.ch.state.set(s.ConnectivityState)
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

// tell reports a subchannel's state to who made it, in its turn.
func (b *balancerWrapper) tell(sub *Subchannel, s balancer.SubConnState) {
	b.calls.Go(func() {
		if b.isClosed() || sub.silent {
			return
		}
		sub.silent = s.ConnectivityState == connectivity.Shutdown
		if listener := sub.listener; listener != nil {
			listener(s)
			return
		}
		b.policy.UpdateSubConnState(sub, s)
	})
}
