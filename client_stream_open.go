// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/transport"
)

// NewStream begins a streaming RPC. Generated code calls it. All errors are of package
// status. See [ClientStream] for what has to be done so that the stream does not hold
// resources for ever.
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

// chainStream makes one function of the interceptors, nil if there are none.
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

// newStream is the RPC behind the interceptors.
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

// newLinkStream begins an RPC on one connection. It is not retried.
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

// open begins an RPC for which enter was called.
func (cs *clientStream) open(config *MethodConfig) (ClientStream, error) {
	err := cs.begin(config)
	if err == nil {
		cs.tellBegun()
		cs.own.parent = cs.ctx
		cs.ctx = &cs.own
		cs.own.begun = cs.hedging != nil    // one attempt may end another that still waits
		cs.call.Watched = cs.hedging == nil // by contextDone
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
	if cs.finished { // meanwhile, and finish did not see stopWatch
		stop()
	}
	cs.mu.Unlock()
	return cs, nil
}

// beginAttempts returns when an attempt is on its way.
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
