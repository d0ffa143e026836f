// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/transport/h2"
)

// callContext is the context of a server's call. It is a part of the stream, so
// that it costs no allocation, and does only what is asked of it: the channel
// of Done and the timer of the deadline come into being when somebody wants to
// wait. A call whose handler waits for something else, and asks for nothing of the
// stream, is so not reset at its deadline but when it next does, or ends: a timer
// for each call would cost every one of them two allocations.
type callContext struct {
	stream *ServerStream

	ctxMu    sync.Mutex
	err      error
	done     chan struct{}
	timer    *time.Timer
	deadline time.Time // zero: the client set none
	after    map[*afterFunc]struct{}
}

type afterFunc struct{ f func() }

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.ctxMu.Lock()
	defer c.ctxMu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.errLocked() != nil {
			close(c.done)
		} else {
			c.startTimerLocked()
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *callContext) Err() error { return c.ctxErr() }

func (c *callContext) ctxErr() error {
	c.ctxMu.Lock()
	err := c.errLocked()
	late := err == nil && c.passed()
	c.ctxMu.Unlock()
	if late {
		c.expire()
		return context.DeadlineExceeded
	}
	return err
}

// ended reports whether the context has been ended. Unlike ctxErr it never ends it, so that
// the stream's mu may be held.
func (c *callContext) ended() bool {
	c.ctxMu.Lock()
	defer c.ctxMu.Unlock()
	return c.err != nil
}

func (c *callContext) errLocked() error { return c.err }

// passed reports whether the deadline is over, for which no timer may run.
func (c *callContext) passed() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

// lateAtOnce reports whether the deadline has passed before anybody knows of the context,
// which nothing else has ended.
func (c *callContext) lateAtOnce() bool {
	c.ctxMu.Lock()
	defer c.ctxMu.Unlock()
	return c.err == nil && c.passed()
}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case ctxkey.IncomingMetadata:
		return c
	case ctxkey.Peer:
		return &c.stream.server.peer
	case ctxkey.ServerTransportStream:
		return c.stream
	}
	return c.stream.server.ctx.Value(key)
}

// IncomingMD implements ctxkey.LazyMD.
func (c *callContext) IncomingMD() map[string][]string { return c.stream.req.fields.md() }

// Values implements ctxkey.ValuesMD.
func (c *callContext) Values(key string) []string { return c.stream.req.fields.values(key) }

// AfterFunc is what package context looks for, so that a context derived of
// this one needs no goroutine.
func (c *callContext) AfterFunc(f func()) (stop func() bool) {
	c.ctxMu.Lock()
	defer c.ctxMu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	c.startTimerLocked()
	a := &afterFunc{f}
	if c.after == nil {
		c.after = make(map[*afterFunc]struct{})
	}
	c.after[a] = struct{}{}
	return func() bool {
		c.ctxMu.Lock()
		defer c.ctxMu.Unlock()
		_, waiting := c.after[a]
		delete(c.after, a)
		return waiting
	}
}

// startTimer makes the context end at its deadline even if nobody asks.
func (c *callContext) startTimer() {
	if c.deadline.IsZero() {
		return
	}
	c.ctxMu.Lock()
	defer c.ctxMu.Unlock()
	c.startTimerLocked()
}

func (c *callContext) startTimerLocked() {
	if c.deadline.IsZero() || c.timer != nil || c.err != nil {
		return
	}
	c.timer = time.AfterFunc(time.Until(c.deadline), c.expire)
}

// expire ends the context because of its deadline, and the call with it.
func (c *callContext) expire() {
	if c.cancel(context.DeadlineExceeded) {
		c.stream.expired()
	}
}

// cancel ends the context, and reports whether it had not ended before.
func (c *callContext) cancel(err error) bool {
	c.ctxMu.Lock()
	if c.err != nil {
		c.ctxMu.Unlock()
		return false
	}
	if err == context.Canceled && c.passed() {
		err = context.DeadlineExceeded // the client gave up because of it
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	after := c.after
	c.after = nil
	c.ctxMu.Unlock()
	for a := range after {
		go a.f()
	}
	c.stream.contextEnded()
	return true
}

// setDeadline is called before anyone else has the context.
func (c *callContext) setDeadline(timeout time.Duration) {
	c.deadline = time.Now().Add(timeout)
}

var _ h2.Receiver = (*serverReceiver)(nil)
