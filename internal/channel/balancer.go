// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/nesting"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/resolver"
)

func newBalancerWrapper(ch *Channel) *balancerWrapper {
	b := &balancerWrapper{ch: ch}
	b.policy.Init(b)
	return b
}

// BuildOptions implements gracefulswitch.Owner.
func (b *balancerWrapper) BuildOptions() balancer.BuildOptions {
	ch := b.ch
	return balancer.BuildOptions{
		DialCreds:       ch.dialCreds(),
		CredsBundle:     ch.opts.Bundle,
		Dialer:          ch.opts.Dialer,
		Authority:       ch.authority,
		CustomUserAgent: ch.opts.Transport.UserAgent,
		ChannelzParent:  ch.node,
		Target:          ch.Parsed(),
	}
}

// update gives the balancer what the resolver found, and returns the balancer's error.
func (b *balancerWrapper) update(s resolver.State, sc *ServiceConfig) error {
	old := b.config.Swap(sc)
	config := sc.balancerConfig()
	if name := config.Child.Name(); old == nil || old.balancerConfig().Child.Name() != name {
		b.ch.node.Trace(channelz.Info, fmt.Sprintf("Channel switches to new LB policy %q", name), nil)
	}
	if n := b.ch.opts.Nesting; n > 0 {
		s = nesting.Attach(s, n)
	}
	var err error
	b.wait(func() {
		err = b.policy.UpdateClientConnState(balancer.ClientConnState{ResolverState: s, BalancerConfig: config})
	})
	return err
}

// wait queues f in calls and returns when f has run. After close it does nothing.
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

// close queues the balancer's Close in calls. No other method of the balancer is called after that.
// The channel that close returns is closed when Close has returned.
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

// tell queues a report of a subchannel's state in calls, to the subchannel's listener or, without
// one, to the policy. The subchannel's producers are closed before the report.
func (b *balancerWrapper) tell(sub *Subchannel, s balancer.SubConnState) {
	b.calls.Go(func() {
		defer b.report(sub, s) // also if a producer's end leaves by a panic or Goexit
		sub.producers.close()
	})
}

func (b *balancerWrapper) report(sub *Subchannel, s balancer.SubConnState) {
	if b.isClosed() || sub.silent {
		return
	}
	sub.silent = s.ConnectivityState == connectivity.Shutdown
	if listener := sub.listener; listener != nil {
		listener(s)
		return
	}
	b.policy.UpdateSubConnState(sub, s)
}
