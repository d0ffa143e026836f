// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// childHook is a context that calls a function when a context that is derived from it is cancelled.
type childHook struct {
	context.Context
	done chan struct{} // never closed
	left func()
}

// Done returns a channel of its own, so that package context uses AfterFunc.
func (l *childHook) Done() <-chan struct{} { return l.done }

// AfterFunc is what package context uses to derive contexts.
func (l *childHook) AfterFunc(f func()) (stop func() bool) {
	inner := context.AfterFunc(l.Context, f)
	return func() bool {
		if left := l.left; left != nil {
			l.left = nil
			left()
		}
		return inner()
	}
}

// TestAbortTellsWhy: a method that notices that the context of an RPC was cancelled, while another goroutine ends
// the RPC with some error, returns that error and not Canceled.
func TestAbortTellsWhy(t *testing.T) {
	cc := newTestClient(t, serve(t, newEcho()).addr)
	want := status.Error(codes.DataLoss, "of the test")
	for what, end := range map[string]func(*clientStream){
		"a held stream fails": func(cs *clientStream) { (*heldStream)(cs).Fail(want) },
		"the channel closes":  func(cs *clientStream) { cs.abandon(want) },
	} {
		for method, call := range map[string]func(*clientStream) error{
			"RecvMsg": func(cs *clientStream) error { return cs.RecvMsg(new(text)) },
			"CloseSend": func(cs *clientStream) error { // it notices, too, but RecvMsg tells
				if err := cs.CloseSend(); err != nil {
					return err
				}
				return want
			},
		} {
			ctx := &childHook{Context: testContext(t), done: make(chan struct{})}
			finished := make(chan error, 1)
			st, err := cc.NewStream(ctx, bidiStream, bidiMethod, OnFinish(func(err error) { finished <- err }))
			if err != nil {
				t.Fatal(err)
			}
			cs := st.(*clientStream)
			_ = cs.Context().Done()
			var got error
			ctx.left = func() { got = call(cs) }
			end(cs)
			if got != want {
				t.Errorf("%s: %s returns %v", what, method, got)
			}
			if err := <-finished; err != want {
				t.Errorf("%s: OnFinish is told %v", what, err)
			}
			if err := cs.RecvMsg(new(text)); err != want {
				t.Errorf("%s: RecvMsg returns %v afterwards", what, err)
			}
		}
	}
}
