// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/resolver"
)

// dnsResolver looks up one name for one channel. While it waits for the next lookup it has a timer
// and no goroutine. It makes the timer when it first waits, as most names are looked up only once.
type dnsResolver struct {
	// Immutable.
	cc    resolver.ClientConn
	query query

	mu     sync.Mutex
	plan   schedule
	timer  *time.Timer        // starts the next lookup; nil before the first wait
	cancel context.CancelFunc // cancels the running lookup; nil while none runs
}

// ResolveNow makes the resolver look the name up once the minimum interval is over. Further
// requests before that lookup have no effect.
func (r *dnsResolver) ResolveNow(resolver.ResolveNowOptions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wait, due := r.plan.resolveNow(time.Now()); due {
		r.startIn(wait)
	}
}

// Close cancels a running lookup. It does not wait for the end of it, as the channel may call Close
// from within UpdateState. The result of the lookup is dropped, unless it is being passed to the
// channel at this moment.
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

// startIn starts the next lookup after the wait. The caller must hold r.mu.
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

// resolve makes one lookup. It runs in a goroutine of its own.
func (r *dnsResolver) resolve() {
	ctx, ok := r.begin()
	if !ok {
		return
	}
	err := errLeft
	defer func() { r.end(err) }()
	err = r.lookUpAndTell(ctx)
}

// errLeft is the outcome of a lookup whose goroutine was ended by code of the program.
var errLeft = errors.New("dns: the goroutine of a lookup has ended")

// begin returns the context for the lookup that is due. ok is false if the resolver is closed.
func (r *dnsResolver) begin() (ctx context.Context, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.plan.begin() {
		return nil, false
	}
	ctx, r.cancel = context.WithTimeout(context.Background(), time.Duration(timeout.Load()))
	return ctx, true
}

// end schedules the next lookup, if one is due, after a lookup that returned err.
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

// lookUpAndTell makes a lookup and passes the result to the channel. It returns an error if the
// lookup failed, or if the channel could not use the result.
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
