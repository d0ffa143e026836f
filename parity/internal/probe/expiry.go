// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"sync"
	"time"
)

// WithExpiry returns a context that exceeds its deadline when expire is called, or its parent is
// done: whatever comes before a deadline has come then, however loaded the machine is.
func WithExpiry(parent context.Context) (ctx context.Context, expire func()) {
	c := newExpiring(parent)
	return c, func() { c.end(context.DeadlineExceeded) }
}

// WithTimeout is context.WithTimeout, but the deadline passes only once the process is quiet, too.
func WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx := newExpiring(parent)
	quiet, stop := QuietOr(d)
	go func() {
		select {
		case <-quiet:
			ctx.end(context.DeadlineExceeded)
		case <-ctx.done:
			stop()
		}
	}()
	return ctx, func() { ctx.end(context.Canceled) }
}

// expiring is a context whose deadline passes by a call.
type expiring struct {
	context.Context                 // the parent
	inner           context.Context // for functions to be called
	cancel          context.CancelFunc

	mu   sync.Mutex
	err  error
	done chan struct{}
}

func newExpiring(parent context.Context) *expiring {
	inner, cancel := context.WithCancel(context.Background())
	c := &expiring{Context: parent, inner: inner, cancel: cancel, done: make(chan struct{})}
	context.AfterFunc(parent, func() { c.end(parent.Err()) })
	return c
}

// end ends the context, once.
func (c *expiring) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.cancel()
}

// Done implements context.Context.
func (c *expiring) Done() <-chan struct{} { return c.done }

// Err implements context.Context.
func (c *expiring) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc lets package context derive contexts without a goroutine for each.
func (c *expiring) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(c.inner, f) }
