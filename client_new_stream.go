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
