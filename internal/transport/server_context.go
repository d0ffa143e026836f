// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"math"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

func (e contextEnd) err() error {
	switch e {
	case cancelled:
		return context.Canceled
	case expired:
		return context.DeadlineExceeded
	}
	return nil
}

// Deadline implements context.Context. The wall clock may have been set since the call began: the result is
// relative to what it shows now.
func (c *callContext) Deadline() (time.Time, bool) {
	if c.deadline == 0 {
		return time.Time{}, false
	}
	now := time.Now()
	return now.Add(time.Duration(c.deadline - clock.At(now))), true
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} { return c.waitable().Done() }

// waitable returns a context of the standard library that ends with the call. Contexts
// that are derived from the call's, also through the values that others put around it, find
// it with Value (see treeValue) and register there; otherwise each would need a goroutine.
func (c *callContext) waitable() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tree == nil {
		c.tree = c.newTree()
		c.startTimer()
	}
	return c.tree
}

// newTree returns a context that endTree ends. mu is held.
func (c *callContext) newTree() context.Context {
	if c.deadline == 0 && c.overBy() != expired {
		tree, cancel := context.WithCancel(context.Background())
		if c.endTree = cancel; c.overBy() != running {
			cancel()
		}
		return tree
	}
	tree, cancel := context.WithCancel((*callRoot)(c))
	_ = cancel // it would always say Canceled; endTree ends the tree with what callRoot says
	return tree
}

// callRoot is the parent of callContext.tree if there is a deadline. It tells the tree that it has ended,
// and with which error. It is used with mu held until the call's context has ended, and does not change
// after that.
type callRoot callContext

var (
	never = make(chan struct{})
	ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
)

// Deadline implements context.Context.
func (*callRoot) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (r *callRoot) Done() <-chan struct{} {
	if (*callContext)(r).overBy() != running {
		return ended
	}
	return never
}

// Err implements context.Context.
func (r *callRoot) Err() error { return (*callContext)(r).overBy().err() }

// Value implements context.Context.
func (*callRoot) Value(any) any { return nil }

// AfterFunc is what package context looks for in a parent: f ends the tree.
func (r *callRoot) AfterFunc(f func()) (stop func() bool) {
	r.endTree = f
	return func() bool { return false }
}

// ctxErr returns the error of the call's context.
func (s *ServerStream) ctxErr() error { return s.asContext().ctxErr() }

func (s *ServerStream) asContext() *callContext { return (*callContext)(s) }

// Err implements context.Context.
func (c *callContext) Err() error { return c.ctxErr() }

func (c *callContext) ctxErr() error {
	if end := c.overBy(); end != running {
		return end.err()
	}
	if c.passed() {
		c.expire()
		return context.DeadlineExceeded
	}
	return nil
}

// overBy returns how the context has ended, if it has.
func (c *callContext) overBy() contextEnd { return contextEnd(c.over.Load()) }

// isOver reports whether the context has been ended. Unlike ctxErr it never ends the context, so the caller
// may hold the stream's mu.
func (c *callContext) isOver() bool { return c.overBy() != running }

// passed reports whether the deadline has passed. There may be no timer for it.
func (c *callContext) passed() bool { return c.deadline != 0 && clock.Now() >= c.deadline }

// lateAtOnce reports whether the deadline has passed, and nothing has ended the context yet. It is called
// before anybody else has the context.
func (c *callContext) lateAtOnce() bool { return c.overBy() == running && c.passed() }

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case ctxkey.IncomingMetadata:
		return c
	case ctxkey.Peer:
		if p := c.server.special.ctx.Value(key); p != nil { // a stats handler has put it there
			return p
		}
		return c.server.peer
	case ctxkey.ServerTransportStream:
		return (*ServerStream)(c)
	case ctxkey.ServerConn:
		return c.server
	}
	if v := c.treeValue(key); v != nil {
		return v
	}
	return c.server.special.ctx.Value(key)
}

// String keeps fmt from reading fields that others write, and shows no metadata, which may be secret.
func (c *callContext) String() string { return "context of a gRPC call" }

// IncomingMD implements ctxkey.LazyMD.
func (c *callContext) IncomingMD() map[string][]string { return c.req.fields().md() }

// Values implements ctxkey.ValuesMD.
func (c *callContext) Values(key string) []string { return c.req.fields().values(key) }

// treeValue lets package context find the tree by a key that only package context has.
func (c *callContext) treeValue(key any) any {
	c.mu.Lock()
	tree := c.tree
	c.mu.Unlock()
	if tree == nil {
		return nil
	}
	return tree.Value(key)
}

// startTimer makes the context end at its deadline even if nobody asks. mu is held.
func (c *callContext) startTimer() {
	if c.deadline == 0 || c.cold().timer != nil || c.overBy() != running {
		return
	}
	c.mutableCold().timer = time.AfterFunc(time.Duration(c.deadline-clock.Now()), c.expire)
}

// expire ends the context because of its deadline, and the call with it.
func (c *callContext) expire() {
	if c.cancel(expired) {
		(*ServerStream)(c).expired()
	}
}

// cancel ends the context, and reports whether it had not ended before.
func (c *callContext) cancel(end contextEnd) bool {
	c.mu.Lock()
	first := !c.isOver()
	derived := c.cancelLocked(end)
	c.mu.Unlock()
	derived.now()
	return first
}

// cancelLocked ends the context, unless it has ended before. The caller ends the contexts that
// others derived, once it has released mu.
func (c *callContext) cancelLocked(end contextEnd) derivedEnd {
	if c.isOver() {
		return nil
	}
	if end == cancelled && c.passed() {
		end = expired // which is why the client cancelled it
	}
	c.over.Store(uint32(end))
	if c.cold().timer != nil {
		c.cold().timer.Stop()
	}
	c.wake.signal(wakeEnd, 0)
	(*ServerStream)(c).wakeForHeaders()
	endTree := c.endTree
	c.endTree = nil
	return endTree
}

// derivedEnd ends contexts that were derived from a call's; nil: there are none.
type derivedEnd func()

func (end derivedEnd) now() {
	if end != nil {
		end()
	}
}

// setDeadline must be called before anyone else has the context.
func (c *callContext) setDeadline(timeout time.Duration) {
	now := clock.Now()
	if c.deadline = now + int64(timeout); c.deadline < now {
		c.deadline = math.MaxInt64
	}
}

// expired is called when the deadline has passed. If the call is not finished it is reset: no
// status that the handler returns later may reach the client, for which the call has failed
// at the same deadline.
func (s *ServerStream) expired() {
	s.mu.Lock()
	finished := s.finished
	if !finished {
		s.close()
	}
	s.mu.Unlock()
	if !finished {
		s.h2.Reset(frame.Cancel)
	}
}
