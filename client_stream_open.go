// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/transport"
)

// NewStream begins a streaming RPC. Generated code calls it. Every error has a status of package
// status. [ClientStream] says what the caller must do so that the stream does not hold resources
// for ever.
func (cc *ClientConn) NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error) {
	opts = cc.withDefaults(opts)
	if cc.opts.streamer != nil {
		return cc.opts.streamer(ctx, desc, cc, method, opts...)
	}
	return newStream(ctx, desc, cc, method, opts...)
}

// NewClientStream begins a streaming RPC.
//
// Deprecated: use ClientConn.NewStream.
func NewClientStream(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error) {
	return cc.NewStream(ctx, desc, method, opts...)
}

// chainStream combines interceptors into one function, or returns nil if there are none.
func chainStream(interceptors []StreamClientInterceptor) Streamer {
	if len(interceptors) == 0 {
		return nil
	}
	next := Streamer(newStream)
	for i := len(interceptors) - 1; i >= 0; i-- {
		interceptor, after := interceptors[i], next
		next = func(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error) {
			return interceptor(ctx, desc, cc, method, after, opts...)
		}
	}
	return next
}

// newStream begins the RPC. The last interceptor calls it.
func newStream(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error) {
	cs := &clientStream{}
	cs.desc, cs.call = desc, new(transport.Call)
	choice, err := cs.enter(ctx, cc, method, opts)
	switch {
	case err != nil:
		cs.clientCall.finish(nil, err)
		return nil, err
	case choice.Interceptor != nil:
		return intercept(cs, choice)
	}
	return cs.open(&choice.Method)
}

// newLinkStream begins an RPC on the connection l. The RPC is not retried.
func newLinkStream(ctx context.Context, cc *ClientConn, l *channel.Link, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error) {
	cs := &clientStream{}
	cs.desc, cs.call, cs.fixed = desc, new(transport.Call), l
	cs.replay.Commit()
	if _, err := cs.enter(ctx, cc, method, opts); err != nil {
		cs.clientCall.finish(nil, err)
		return nil, err
	}
	return cs.open(&MethodConfig{})
}

// open begins an RPC for which enter has been called.
func (cs *clientStream) open(config *MethodConfig) (ClientStream, error) {
	err := cs.begin(config)
	if err == nil {
		cs.tellBegun()
		cs.own.parent = cs.ctx
		cs.ctx = &cs.own
		cs.own.begun = cs.hedging != nil    // a hedge may end another one that still waits
		cs.call.Watched = cs.hedging == nil // contextDone watches the context
		err = cs.beginAttempts()
	}
	if err != nil {
		cs.clientCall.finish(cs.attempt, err)
		if cs.own.parent != nil {
			cs.own.cancel()
		}
		return nil, err
	}
	cs.own.begin()
	if !cs.cc.streams.add(cs) {
		cs.abort(ErrClientConnClosing)
		return nil, ErrClientConnClosing
	}
	if cs.own.parent.Done() == nil {
		return cs, nil
	}
	stop := context.AfterFunc(cs.own.parent, cs.contextDone)
	cs.mu.Lock()
	cs.stopWatch = stop
	if cs.finished { // the RPC finished before stopWatch was set
		stop()
	}
	cs.mu.Unlock()
	return cs, nil
}

// beginAttempts begins the attempts, and returns when one of them is on its way.
func (cs *clientStream) beginAttempts() error {
	if cs.hedging != nil && !cs.isHeld() {
		return hedgeStream(cs)
	}
	return cs.firstAttempt()
}

// firstAttempt makes attempts until one of them is on its way.
func (cs *clientStream) firstAttempt() error {
	for {
		cs.attempt = &attempt{}
		err := cs.start(cs.attempt, nil, false)
		if err == nil {
			return nil
		}
		v := cs.judge(cs.attempt, err)
		cs.end(cs.attempt, err)
		if !v.Retry {
			return v.Explain(err)
		}
		if err := cs.cc.channel.Pause(cs.ctx, v.Delay); err != nil {
			return err
		}
	}
}
