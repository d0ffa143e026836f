// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/internal/telemetry"
)

// telemetryPlugin is a plugin of a channel. It stands among the interceptors, at the place of
// the option that added it.
type telemetryPlugin struct {
	client  telemetry.Client
	channel telemetry.Channel // set once the target is known
}

func (p *telemetryPlugin) unary(ctx context.Context, method string, req, reply any, cc *ClientConn, next UnaryInvoker, opts ...CallOption) error {
	ctx, call := p.channel.BeginCall(ctx, telemetry.CallInfo{Method: method, Static: isStatic(opts)})
	err := next(ctx, method, req, reply, cc, opts...)
	call.End(err)
	return err
}

func (p *telemetryPlugin) stream(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, next Streamer, opts ...CallOption) (ClientStream, error) {
	ctx, call := p.channel.BeginCall(ctx, telemetry.CallInfo{Method: method, Static: isStatic(opts)})
	s, err := next(ctx, desc, cc, method, append(opts[:len(opts):len(opts)], OnFinish(call.End))...)
	if err != nil {
		call.End(err) // perhaps no RPC was begun, which would have called OnFinish
	}
	return s, err
}

func isStatic(opts []CallOption) bool {
	for _, o := range opts {
		if _, ok := o.(StaticMethodCallOption); ok {
			return true
		}
	}
	return false
}
