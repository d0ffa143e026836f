// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/healthcheck"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// channelOwner implements channel.Owner for a ClientConn.
type channelOwner ClientConn

// HealthStream implements channel.Owner.
func (o *channelOwner) HealthStream(ctx context.Context, l *channel.Link, method string) (healthcheck.Stream, error) {
	return newLinkStream(ctx, (*ClientConn)(o), l, &StreamDesc{ServerStreams: true}, method)
}

// ClientOf implements channel.Owner.
func (o *channelOwner) ClientOf(sub *channel.Subchannel) any {
	return subConnCalls{(*ClientConn)(o), sub}
}

// ParseServiceConfig implements channel.Owner.
func (*channelOwner) ParseServiceConfig(js string) *serviceconfig.ParseResult {
	return parseServiceConfig(js)
}

// ServiceConfigOf implements channel.Owner.
func (*channelOwner) ServiceConfigOf(c serviceconfig.Config) *channel.ServiceConfig {
	sc, ok := c.(*ServiceConfig)
	switch {
	case !ok:
		return nil
	case sc.parsed == nil: // the program made it, not parseServiceConfig
		return &channel.ServiceConfig{Methods: sc.Methods}
	}
	return sc.parsed
}

// subConnCalls makes RPCs on a subchannel, as a ClientConnInterface. The RPCs fail if there is no
// connection, and are not retried.
type subConnCalls struct {
	cc  *ClientConn
	sub *channel.Subchannel
}

// Invoke implements ClientConnInterface.
func (s subConnCalls) Invoke(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	stream, err := s.NewStream(ctx, &StreamDesc{}, method, opts...)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(args); err != nil {
		_ = err // the stream's status says more
	}
	return stream.RecvMsg(reply)
}

var errNotReady = status.Error(codes.Unavailable, "the subchannel is not ready")

// NewStream implements ClientConnInterface.
func (s subConnCalls) NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error) {
	l := s.sub.Ready()
	if l == nil {
		return nil, errNotReady
	}
	return newLinkStream(ctx, s.cc, l, desc, method, opts...)
}
