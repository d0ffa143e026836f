// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/resolver"
)

// dnsResolver looks up one name for one channel. While it waits it is a timer at most.
type dnsResolver struct {
	// Immutable.
	cc     resolver.ClientConn
	query  query
	ctx    context.Context // done when closed
	cancel context.CancelFunc

	mu    sync.Mutex
	plan  schedule
	timer *time.Timer // the next lookup's; nil before the first wait
}

// start begins the first lookup.
func (r *dnsResolver) start() {
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.ResolveNow(resolver.ResolveNowOptions{})
}

// ResolveNow has the name looked up once the minimum interval is over. Requests during
// a wait add nothing to it.
func (r *dnsResolver) ResolveNow(resolver.ResolveNowOptions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wait, due := r.plan.resolveNow(time.Now()); due {
		r.startIn(wait)
	}
}

// Close ends a lookup that is running, without waiting for it: Close may have been
// called from within the channel's own UpdateState. A result that the lookup still has
// is dropped, unless the channel is being told it at this moment.
func (r *dnsResolver) Close() {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan.phase = closed
	if r.timer != nil {
		r.timer.Stop()
	}
}

// startIn starts the next lookup after the wait. r.mu is held.
func (r *dnsResolver) startIn(wait time.Duration) {
	if r.timer == nil {
		r.timer = time.AfterFunc(wait, r.resolve)
		return
	}
	r.timer.Reset(wait)
}

// resolve is one lookup, in a goroutine of its own that ends with it.
func (r *dnsResolver) resolve() {
	r.mu.Lock()
	ok := r.plan.begin()
	r.mu.Unlock()
	if !ok {
		return
	}
	err := r.lookUpAndTell()
	r.mu.Lock()
	defer r.mu.Unlock()
	var (
		wait time.Duration
		due  bool
	)
	if err != nil {
		wait, due = r.plan.failed(r.query.Backoff)
	} else {
		wait, due = r.plan.succeeded(time.Now(), time.Duration(minInterval.Load()))
	}
	if due {
		r.startIn(wait)
	}
}

// lookUpAndTell returns an error if the lookup failed, or if the channel could not use
// what it found.
func (r *dnsResolver) lookUpAndTell() error {
	ctx, cancel := context.WithTimeout(r.ctx, time.Duration(timeout.Load()))
	defer cancel()
	state, err := r.query.run(ctx, r.cc.ParseServiceConfig)
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if err != nil {
		r.cc.ReportError(err)
		return err
	}
	return r.cc.UpdateState(state)
}
