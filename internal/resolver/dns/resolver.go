// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/resolver"
)

// dnsResolver looks up one name for one channel. While it waits it is a timer at most,
// and before it first waits not even that: most names are looked up once.
type dnsResolver struct {
	// Immutable.
	cc    resolver.ClientConn
	query query

	mu     sync.Mutex
	plan   schedule
	timer  *time.Timer        // the next lookup's; nil before the first wait
	cancel context.CancelFunc // the running lookup's; nil while none runs
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan.phase = closed
	if r.cancel != nil {
		r.cancel()
	}
	if r.timer != nil {
		r.timer.Stop()
	}
}

func (r *dnsResolver) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plan.phase == closed
}

// startIn starts the next lookup after the wait. r.mu is held.
func (r *dnsResolver) startIn(wait time.Duration) {
	switch {
	case wait == 0:
		go r.resolve()
	case r.timer == nil:
		r.timer = time.AfterFunc(wait, r.resolve)
	default:
		r.timer.Reset(wait)
	}
}

// resolve is one lookup, in a goroutine of its own that ends with it.
func (r *dnsResolver) resolve() {
	ctx, ok := r.begin()
	if !ok {
		return
	}
	r.end(r.lookUpAndTell(ctx))
}

// begin returns the context of the lookup whose time has come, unless it is not wanted
// any more.
func (r *dnsResolver) begin() (ctx context.Context, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.plan.begin() {
		return nil, false
	}
	ctx, r.cancel = context.WithTimeout(context.Background(), time.Duration(timeout.Load()))
	return ctx, true
}

// end plans what comes after a lookup.
func (r *dnsResolver) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel()
	r.cancel = nil
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
func (r *dnsResolver) lookUpAndTell(ctx context.Context) error {
	state, err := r.query.run(ctx, r.cc.ParseServiceConfig)
	if r.isClosed() {
		return context.Canceled
	}
	if err != nil {
		r.cc.ReportError(err)
		return err
	}
	return r.cc.UpdateState(state)
}
