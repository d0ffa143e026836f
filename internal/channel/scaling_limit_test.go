// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"runtime"
	"sync"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/resolver"
)

// scalingSubchannel is the only subchannel of a channel that it returns, too.
func scalingSubchannel() (*Channel, *Subchannel) {
	ch := &Channel{opts: &Options{Scale: true}}
	b := &balancerWrapper{ch: ch}
	sub := newSubchannel(b, []resolver.Address{{Addr: "x"}}, balancer.NewSubConnOptions{})
	ch.balancer, ch.resolver, ch.subConns = b, &resolverWrapper{ch: ch}, []*Subchannel{sub}
	return ch, sub
}

func (sub *Subchannel) limit() int {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.scale.Load().limit
}

// TestScaleOfLatestConfig: a service config that takes long to come into use, because an RPC asks the
// Selector before it, does not bring its limit back when the next one is in use.
func TestScaleOfLatestConfig(t *testing.T) {
	ch, sub := scalingSubchannel()
	ch.useConfig(ch.resolver, &ServiceConfig{scale: 4}, struct{ rpcconfig.Selector }{})
	turn := ch.config.Load().selector
	turn.mu.RLock() // an RPC asks
	second := &ServiceConfig{scale: 2}
	var wg sync.WaitGroup
	wg.Go(func() { ch.useConfig(ch.resolver, second, nil) })
	for !ch.config.Load().holds(second) {
		runtime.Gosched()
	}
	ch.useConfig(ch.resolver, &ServiceConfig{scale: 3}, nil)
	turn.mu.RUnlock()
	wg.Wait()
	if n := sub.limit(); n != 3 || ch.scale.Load() != 3 {
		t.Errorf("the limit is %d, the channel's %d; want 3", n, ch.scale.Load())
	}
}

// TestScaleOfNewSubchannel: a limit that changes while a new subchannel takes on the old one is the
// subchannel's.
func TestScaleOfNewSubchannel(t *testing.T) {
	ch, sub := scalingSubchannel()
	ch.scale.Store(2)
	sub.mu.Lock()
	var wg sync.WaitGroup
	wg.Go(sub.followScale)
	for range 100 {
		runtime.Gosched() // so that it waits for mu
	}
	ch.scale.Store(3)
	sub.mu.Unlock()
	wg.Wait()
	if n := sub.limit(); n != 3 {
		t.Errorf("the limit is %d, want 3", n)
	}
}

// TestRaisedLimit: with a limit of 1 RPCs are counted, also those for which the connection has no place, so that when the
// limit is raised the connection takes no other before all but its places have ended.
func TestRaisedLimit(t *testing.T) {
	_, sub := scalingSubchannel()
	sub.followScale()
	l := &Link{sub: sub, addr: &sub.addrs[0]}
	l.Places(2)
	take := func() (got *Link) {
		sub.locked(func() { got = sub.takeLocked(sub.scale.Load()) })
		return got
	}
	sub.locked(func() { sub.current = l })
	for range 3 {
		if take() != l {
			t.Fatal("with one connection it takes all RPCs")
		}
	}
	sub.scaleTo(2)
	l.release()
	if take() != nil {
		t.Error("the connection took more RPCs than it has places for")
	}
	l.release()
	if take() != l {
		t.Error("a place that is free is not taken")
	}
}
