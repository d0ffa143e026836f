// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/healthcheck"
	"google.golang.org/grpc/resolver"
)

// watchedSubchannel is a subchannel with health checks, which the test plays, and what its listeners
// hear.
type watchedSubchannel struct {
	*Subchannel
	heard []string // the queue owner.calls adds to it

	mu      sync.Mutex
	watches []*healthWatcher
}

// healthWatcher is one watch of the health, the oldest first.
type healthWatcher struct {
	healthcheck.Params
	ctx context.Context
}

func newWatchedSubchannel(t *testing.T, opts balancer.NewSubConnOptions) *watchedSubchannel {
	w := new(watchedSubchannel)
	before := healthcheck.Registered()
	healthcheck.Register(func(ctx context.Context, p healthcheck.Params) error {
		w.mu.Lock()
		w.watches = append(w.watches, &healthWatcher{p, ctx})
		w.mu.Unlock()
		<-ctx.Done()
		return nil
	})
	t.Cleanup(func() { healthcheck.Register(before) })
	b := &balancerWrapper{ch: &Channel{opts: &Options{Scale: true}}}
	b.config.Store(&ServiceConfig{healthName: new(string)})
	opts.StateListener = func(s balancer.SubConnState) { w.hear("state", s) }
	w.Subchannel = newSubchannel(b, []resolver.Address{{Addr: "x"}}, opts)
	t.Cleanup(func() {
		w.Subchannel.mu.Lock()
		defer w.Subchannel.mu.Unlock()
		w.dropLocked()
	})
	return w
}

func (w *watchedSubchannel) hear(what string, s balancer.SubConnState) {
	w.heard = append(w.heard, fmt.Sprint(what, " ", s.ConnectivityState))
}

// locked calls f with the subchannel's lock held, and waits for what comes of it.
func (w *watchedSubchannel) locked(f func()) {
	w.Subchannel.mu.Lock()
	f()
	w.Subchannel.mu.Unlock()
	synctest.Wait()
}

func (w *watchedSubchannel) report(i int, s connectivity.State) {
	w.watches[i].Report(s, nil)
	synctest.Wait()
}

func (w *watchedSubchannel) want(t *testing.T, what string, heard ...string) {
	t.Helper()
	if !slices.Equal(w.heard, heard) {
		t.Errorf("%s: heard %q, want %q", what, w.heard, heard)
	}
	w.heard = nil
}

// TestHealthListenerBesideHealthCheck: a listener of the health does not keep the subchannel's state
// from following it, and is forgotten when the subchannel leaves Ready.
func TestHealthListenerBesideHealthCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedSubchannel(t, balancer.NewSubConnOptions{HealthCheckEnabled: true})
		first := &Link{sub: w.Subchannel, addr: &w.addrs[0]}
		w.locked(func() { w.useLocked(first) })
		w.report(0, connectivity.Ready)
		w.RegisterHealthListener(func(s balancer.SubConnState) { w.hear("health", s) })
		synctest.Wait()
		w.want(t, "at first", "state READY", "health CONNECTING")
		w.report(1, connectivity.Ready)
		w.want(t, "the listener's watch", "health READY")
		w.report(0, connectivity.TransientFailure)
		w.report(1, connectivity.TransientFailure)
		w.want(t, "not serving", "state TRANSIENT_FAILURE")
		if w.watches[1].ctx.Err() == nil {
			t.Error("the watch for a listener that is forgotten goes on")
		}
		w.report(0, connectivity.Ready)
		w.want(t, "serving again", "state READY")
		if w.watches[0].ctx.Err() != nil {
			t.Error("the state's watch has ended")
		}
	})
}

// TestHealthMovesToNextConnection: both watches move to the next connection, and a late report of
// the lost one is ignored.
func TestHealthMovesToNextConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchedSubchannel(t, balancer.NewSubConnOptions{HealthCheckEnabled: true})
		w.scaleTo(2)
		first := &Link{sub: w.Subchannel, addr: &w.addrs[0]}
		w.locked(func() { w.useLocked(first) })
		w.report(0, connectivity.Ready)
		w.RegisterHealthListener(func(s balancer.SubConnState) { w.hear("health", s) })
		synctest.Wait()
		w.heard = nil
		w.locked(func() {
			w.addLocked(&Link{sub: w.Subchannel, addr: &w.addrs[0]})
			w.promoteLocked(first)
		})
		if len(w.watches) != 4 || w.watches[0].ctx.Err() == nil || w.watches[1].ctx.Err() == nil {
			t.Fatalf("%d watches, want 2 that are over and 2 others", len(w.watches))
		}
		for i := 2; i < 4; i++ {
			w.report(i, connectivity.Ready)
		}
		w.want(t, "the new connection", "health READY")
		w.report(1, connectivity.TransientFailure)
		w.report(0, connectivity.TransientFailure)
		w.want(t, "late reports of the lost connection")
		w.locked(func() {
			if w.state != connectivity.Ready {
				t.Errorf("the subchannel is %v", w.state)
			}
		})
	})
}
