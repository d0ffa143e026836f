// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// TestEnsureConfigDuringUpdate: the fallback does not replace a service config that arrives at the
// moment at which the resolver reports an error.
func TestEnsureConfigDuringUpdate(t *testing.T) {
	c := newConfig(&ServiceConfig{})
	for range 500 {
		ch := &Channel{opts: &Options{Fallback: NoServiceConfig}}
		r := &resolverWrapper{ch: ch}
		ch.resolver = r
		ch.mu.Lock()
		var wg sync.WaitGroup
		wg.Go(func() { ch.ensureConfig(r) })
		for range 10 {
			runtime.Gosched() // so that it waits for mu
		}
		ch.config.Store(c)
		ch.mu.Unlock()
		wg.Wait()
		if ch.config.Load() != c {
			t.Fatal("the service config is lost")
		}
	}
}

// TestConfigAfterInvalidAndIdle: an invalid service config is an answer of the resolver that brought
// it. After idle mode, RPCs wait for the next resolver's, unless the channel is closed.
func TestConfigAfterInvalidAndIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &Channel{opts: &Options{Fallback: NoServiceConfig}}
		ch.answered(ch.resolver) // without a service config
		if c, waited, err := ch.awaitConfig(t.Context()); c != emptyConfig || waited || err != nil {
			t.Errorf("after an invalid config: %v, waited: %t, %v", c, waited, err)
		}
		wantWaitAfterIdle(t, ch)

		closed := &Channel{opts: &Options{}, closed: true}
		closed.answered(closed.resolver)
		closed.detach()
		if c, waited, err := closed.awaitConfig(t.Context()); c != emptyConfig || waited || err != nil {
			t.Errorf("a closed channel: %v, waited: %t, %v", c, waited, err)
		}
	})
}

// wantWaitAfterIdle checks that an RPC waits for the resolver that ch gets after idle mode, whatever one before it
// says late.
func wantWaitAfterIdle(t *testing.T, ch *Channel) {
	t.Helper()
	ch.enterIdle()
	ch.resolver = &resolverWrapper{ch: ch}
	ch.answered(&resolverWrapper{ch: ch})
	sc := &ServiceConfig{}
	got := make(chan *config, 1)
	go func() {
		c, _, _ := ch.awaitConfig(t.Context())
		got <- c
	}()
	synctest.Wait()
	ch.useConfig(ch.resolver, sc, nil)
	if c := <-got; !c.holds(sc) {
		t.Error("an RPC after idle mode did not wait for the resolver")
	}
}

// TestConfigAfterErrorAndIdle: an error of the resolver lets RPCs begin with the fallback, but it settles nothing: after
// idle mode, RPCs wait for the next resolver's answer.
func TestConfigAfterErrorAndIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := &Channel{opts: &Options{Fallback: NoServiceConfig}}
		ch.resolver = &resolverWrapper{ch: ch}
		ch.ensureConfig(ch.resolver)
		ch.resolver = nil // there is nothing to close
		if c, waited, err := ch.awaitConfig(t.Context()); !c.holds(NoServiceConfig) || waited || err != nil {
			t.Errorf("after an error: %v, waited: %t, %v", c, waited, err)
		}
		wantWaitAfterIdle(t, ch)
	})
}
