// SPDX-License-Identifier: Apache-2.0

// Package connect makes channels that are connected, and reports the states of a channel.
//
// grpc.NewClient returns a channel that is not connected, and whose target may be wrong; the first RPC
// finds out. That is right for most programs. For programs that need to know sooner there is
// [NewClient], which waits. It takes the place of grpc.DialContext with its deprecated options:
//
//	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
//	defer cancel()
//	cc, err := connect.NewClient(ctx, "dns:///orders:443", []connect.Option{connect.FailFast()},
//		grpc.WithTransportCredentials(creds))
//
// # Semantics
//
//   - [NewClient] calls grpc.NewClient and Connect, and waits until the state is READY. If ctx ends
//     first, the channel is closed, and the error says why the last attempt to connect failed; it
//     wraps ctx's cause. Once NewClient has returned a channel, ctx has no effect on it.
//   - With [FailFast] the first TRANSIENT_FAILURE ends the wait: all addresses that the balancer tried
//     have failed once, or the name is not known. Without it, attempts go on with the usual back-off.
//   - [Wait] waits in the same way for a channel that exists already. It needs no option, and so does
//     not know why attempts failed.
//   - [OnState] calls a function for every state, in order. It leaves none out, which
//     WaitForStateChange does not promise. The function runs on a goroutine of its own, which exists
//     only while there is something to report.
//
// # Edges
//
// The balancer decides when the channel is READY: with pick_first and round_robin when there is one
// connection, with xDS when there is one to a cluster's endpoint. A channel that goes idle later
// (grpc.WithIdleTimeout) is IDLE, and connects again with the next RPC. Retries, hedging and interceptors
// are not affected, as no RPC is sent. The package works with bufconn and custom dialers, and with
// servers behind ServeHTTP.
//
// All of this may change, or be removed, in a later release.
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

// FailFast returns an Option that makes NewClient give up when the channel first is in
// TRANSIENT_FAILURE.
func FailFast() Option { return func(w *waiter) { w.failFast = true } }

// NewClient returns a channel that is connected. opts may be nil.
func NewClient(ctx context.Context, target string, opts []Option, dial ...grpc.DialOption) (*grpc.ClientConn, error) {
	w := &waiter{changed: make(chan struct{}, 1)}
	for _, o := range opts {
		o(w)
	}
	// w is told first, before other listeners: one of them may end ctx because of the failure.
	cc, err := grpc.NewClient(target, append([]grpc.DialOption{stateOption{tell: w.tell}}, dial...)...)
	if err != nil {
		return nil, err
	}
	if err := w.wait(ctx, cc.Connect); err != nil {
		_ = cc.Close() // nobody has used it
		return nil, fmt.Errorf("connecting to %q: %w", target, err)
	}
	return cc, nil
}

// waiter waits for READY.
type waiter struct {
	failFast bool
	changed  chan struct{} // has one value after tell was called

	mu      sync.Mutex
	idle    bool // the channel is in IDLE
	ready   bool
	failed  bool  // the channel has been in TRANSIENT_FAILURE
	failure error // why the last attempt failed
}

func (w *waiter) tell(s connectivity.State, failure error) {
	w.mu.Lock()
	w.idle = s == connectivity.Idle
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

func (w *waiter) known() (idle, ready, failed bool, failure error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.idle, w.ready, w.failed, w.failure
}

// wait connects the channel whenever it is in IDLE: a policy may have been told to connect before it knew of a server, and a
// channel with a short idle timeout gives up in the midst of it.
func (w *waiter) wait(ctx context.Context, connect func()) error {
	connect()
	for {
		idle, ready, failed, failure := w.known()
		switch {
		case ready:
			return nil
		case failed && w.failFast && failure != nil:
			return failure
		case failed && w.failFast:
			return errNoServer
		case idle:
			connect()
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			if _, _, _, failure = w.known(); failure != nil {
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

// OnState returns a DialOption that calls f with each state that a channel enters, in order, one at a
// time, on a goroutine other than the channel's: f may block, and use the channel. failure is the error of
// the last attempt to connect that has failed by then, or nil if none has. f is not called with the state
// with which a channel begins, IDLE. The last state is SHUTDOWN. A channel can have several such options.
// If f blocks, any number of states may wait for it: a server that accepts connections and closes them
// can cause thousands a second (see experimental.WithStableAfter).
func OnState(f func(s connectivity.State, failure error)) grpc.DialOption {
	return stateListener{tell: f}
}

// stateListener makes a stateOption for each channel, whose function puts the states in a queue.
type stateListener struct {
	grpc.EmptyDialOption
	tell func(connectivity.State, error)
}

// NextDialOption is the method by which package grpc recognises stateListener. It is called for each channel.
func (o stateListener) NextDialOption() grpc.DialOption {
	queue := new(serializer.Serializer)
	return stateOption{tell: func(s connectivity.State, failure error) {
		queue.Go(func() { o.tell(s, failure) })
	}}
}

// stateOption is an option that package grpc recognises by its method. tell is called while locks of the channel
// are held.
type stateOption struct {
	grpc.EmptyDialOption
	tell func(connectivity.State, error)
}

func (o stateOption) ChannelOnState(s connectivity.State, failure error) { o.tell(s, failure) }
