// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"time"

	"google.golang.org/grpc/status"
)

// bound is a context of the program's that bounds how long a call waits for its client. It does not end the
// call by itself. It is set before the call is served. Its methods may be the program's, so none is called with
// a lock held.
type bound struct {
	context.Context
	stop func() bool // keeps Context from waking the receiver; nil: it does not do that
	free func()      // lets go of what Context holds; nil: nothing
	over error       // how Context ended, with a status; nil: it has not. ServerStream.mu guards it
}

// ctxOver returns why ctx has ended. It has once its deadline has passed, also if its timer is late.
func ctxOver(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at, bounded := ctx.Deadline(); bounded && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return nil
}

// Within returns a context with the values of ctx that ends as soon as ctx or other does. free must be called in the end.
func Within(ctx, other context.Context) (within context.Context, free func()) {
	at, bounded := other.Deadline()
	var cancel context.CancelFunc
	if bounded {
		ctx, cancel = context.WithDeadline(ctx, at)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	stop := context.AfterFunc(other, func() {
		if !bounded || other.Err() != context.DeadlineExceeded { // otherwise ctx ends by itself
			cancel()
		}
	})
	return ctx, func() { stop(); cancel() }
}

// done is closed when the context has ended. b may be nil.
func (b *bound) done() <-chan struct{} {
	if b == nil {
		return nil
	}
	return b.Done()
}

// err returns an error with a status once done is closed.
func (b *bound) err() error { return status.FromContextError(b.Err()).Err() }

// ended returns an error with a status if the receiver has to know of the end. b may be nil. The caller holds
// ServerStream.mu.
func (b *bound) ended() error {
	if b == nil {
		return nil
	}
	return b.over
}

// Bind makes Recv and Send wait no longer than ctx lasts. It must be called before the call is served, and
// Unbind, which calls free unless that is nil, after the end of the call.
func (s *ServerStream) Bind(ctx context.Context, free func()) {
	b := &bound{Context: ctx, free: free}
	s.mu.Lock()
	s.mutableCold().bound = b
	s.mu.Unlock()
	b.stop = context.AfterFunc(ctx, func() {
		err := b.err()
		s.mu.Lock()
		defer s.mu.Unlock()
		b.over = err
		s.wake.signal(wakeMessage, 1)
		if s.owner != nil {
			s.wake.signal(wakeOver, 0) // it is told Late
		}
	})
}

// Unbind lets go of the context that Bind was given, if it was called.
func (s *ServerStream) Unbind() {
	s.cold().bound.release()
}

// release is called after the end of the call. b may be nil.
func (b *bound) release() {
	if b == nil {
		return
	}
	b.stop()
	if b.free != nil {
		b.free()
	}
}

// Late implements handover.Server.
func (s *ServerStream) Late() error { return s.cold().bound.err() }

// Bind does what ServerStream.Bind does, except for Send: net/http decides how long a Write waits.
func (s *HandlerStream) Bind(ctx context.Context, free func()) {
	b := &bound{Context: ctx, free: free}
	s.body.bound = b
	b.stop = context.AfterFunc(ctx, func() { s.handed.Load().wake() })
}

// Unbind does what ServerStream.Unbind does.
func (s *HandlerStream) Unbind() { s.body.bound.release() }

// Late implements handover.Server.
func (s *HandlerStream) Late() error { return s.body.bound.err() }
