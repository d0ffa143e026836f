// SPDX-License-Identifier: Apache-2.0

// Package connect makes channels that are connected, and tells of a channel's states.
//
// grpc.NewClient returns a channel that is not connected, and whose target may be wrong; the first
// RPC finds out. That is right for most programs. For those that want to know sooner there is
// [NewClient], which waits, in the place of grpc.DialContext with its deprecated options:
//
//	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
//	defer cancel()
//	cc, err := connect.NewClient(ctx, "dns:///orders:443", []connect.Option{connect.FailFast()},
//		grpc.WithTransportCredentials(creds))
//
// # Semantics
//
//   - [NewClient] is grpc.NewClient, Connect, and the wait until the state is READY. If ctx ends
//     first the channel is closed, and the error says why the last attempt to connect failed; it
//     wraps ctx's cause. ctx has no effect on the channel after that.
//   - With [FailFast] the first TRANSIENT_FAILURE ends the wait: all addresses that the balancer
//     tried have failed once, or the name is not known. Without, attempts go on with the usual
//     back-off.
//   - [Wait] is the same for a channel that exists already. It needs no option, and so knows no
//     errors of attempts.
//   - [OnState] has a function told of every state, in order, and none left out, which
//     WaitForStateChange does not promise. It runs on a goroutine of its own, which is there
//     only while there is something to tell.
//
// # Edges
//
// READY is what the balancer makes of it: with pick_first and round_robin one connection is up,
// with xDS one of a cluster's. A channel that goes idle later (grpc.WithIdleTimeout) is IDLE, and
// connects again with the next RPC. Retries, hedging and interceptors are not concerned: no RPC is
// sent. It works with bufconn and custom dialers, and against servers behind ServeHTTP.
//
// All of this may change or go in a later release.
package connect

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/serializer"
)

// Option says how [NewClient] waits.
type Option func(*waiter)

// FailFast has NewClient give up when the channel is in TRANSIENT_FAILURE for the first time.
func FailFast() Option { return func(w *waiter) { w.failFast = true } }

// NewClient returns a channel that is connected. opts may be nil.
func NewClient(ctx context.Context, target string, opts []Option, dial ...grpc.DialOption) (*grpc.ClientConn, error) {
	w := &waiter{changed: make(chan struct{}, 1)}
	for _, o := range opts {
		o(w)
	}
	// It is told first: what another listener does of a failure, such as to end ctx, comes after.
	cc, err := grpc.NewClient(target, append([]grpc.DialOption{stateOption{tell: w.tell}}, dial...)...)
	if err != nil {
		return nil, err
	}
	cc.Connect()
	if err := w.wait(ctx); err != nil {
		_ = cc.Close() // nobody has used it
		return nil, fmt.Errorf("connecting to %q: %w", target, err)
	}
	return cc, nil
}

// waiter waits for READY.
type waiter struct {
	failFast bool
	changed  chan struct{} // has one when there is something to look at

	mu      sync.Mutex
	ready   bool
	failed  bool  // it was in TRANSIENT_FAILURE
	failure error // why the last attempt failed
}

func (w *waiter) tell(s connectivity.State, failure error) {
	w.mu.Lock()
	w.ready = w.ready || s == connectivity.Ready
	w.failed = w.failed || s == connectivity.TransientFailure
	if failure != nil {
		w.failure = failure
	}
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *waiter) known() (ready, failed bool, failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ready, w.failed, w.failure
}

func (w *waiter) wait(ctx context.Context) error {
	for {
		ready, failed, failure := w.known()
		switch {
		case ready:
			return nil
		case failed && w.failFast && failure != nil:
			return failure
		case failed && w.failFast:
			return errNoServer
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			if _, _, failure = w.known(); failure != nil {
				return fmt.Errorf("%w (the last attempt: %w)", context.Cause(ctx), failure)
			}
			return context.Cause(ctx)
		}
	}
}

var errNoServer = fmt.Errorf("the channel is in %v", connectivity.TransientFailure)

// Wait connects cc, and waits until it is READY. The error is ctx's cause, or grpc.ErrClientConnClosing
// if cc is closed.
func Wait(ctx context.Context, cc *grpc.ClientConn) error {
	for {
		switch s := cc.GetState(); s {
		case connectivity.Ready:
			return nil
		case connectivity.Shutdown:
			return grpc.ErrClientConnClosing
		case connectivity.Idle:
			cc.Connect()
			fallthrough
		default:
			if !cc.WaitForStateChange(ctx, s) {
				return context.Cause(ctx)
			}
		}
	}
}

// OnState has f told of each state that a channel enters, in order, one at a time, on another
// goroutine: it may block, and use the channel. failure is why the last attempt to connect failed
// by then; nil: none has. The state with which a channel begins, IDLE, is not told. The last is
// SHUTDOWN. A channel can have several such options. States wait for an f that blocks, without bound:
// a server that accepts and closes can bring thousands a second (see experimental.WithStableAfter).
func OnState(f func(s connectivity.State, failure error)) grpc.DialOption {
	return stateListener{tell: f}
}

// stateListener is an option whose function is told by a queue for each channel.
type stateListener struct {
	grpc.EmptyDialOption
	tell func(connectivity.State, error)
}

// NextDialOption is known to package grpc: it is called for each channel.
func (o stateListener) NextDialOption() grpc.DialOption {
	queue := new(serializer.Serializer)
	return stateOption{tell: func(s connectivity.State, failure error) {
		queue.Go(func() { o.tell(s, failure) })
	}}
}

// stateOption is known to package grpc by its method. tell is called with locks of the channel.
type stateOption struct {
	grpc.EmptyDialOption
	tell func(connectivity.State, error)
}

func (o stateOption) ChannelOnState(s connectivity.State, failure error) { o.tell(s, failure) }
