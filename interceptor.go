// SPDX-License-Identifier: Apache-2.0

package grpc

import "context"

// UnaryInvoker performs a unary RPC. An interceptor calls the UnaryInvoker that it is given to go
// on with the RPC: it is the next interceptor, or the RPC itself.
type UnaryInvoker func(ctx context.Context, method string, req, reply any, cc *ClientConn, opts ...CallOption) error

// UnaryClientInterceptor is called for every unary RPC of a client. It is responsible for calling
// invoker, once, several times or not at all. What it returns is the result of the RPC, and should
// be an error of package status. method is the full name, "/package.Service/Method". opts are the
// channel's default options, followed by those of the call.
type UnaryClientInterceptor func(ctx context.Context, method string, req, reply any, cc *ClientConn, invoker UnaryInvoker, opts ...CallOption) error

// Streamer begins a streaming RPC. An interceptor calls the Streamer that it is given to go on with
// the RPC.
type Streamer func(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, opts ...CallOption) (ClientStream, error)

// StreamClientInterceptor is called for every streaming RPC of a client, when that begins. It is
// responsible for calling streamer. To see the RPC's messages, it may wrap the stream that streamer
// returns. An error should be one of package status.
type StreamClientInterceptor func(ctx context.Context, desc *StreamDesc, cc *ClientConn, method string, streamer Streamer, opts ...CallOption) (ClientStream, error)

// UnaryServerInfo describes a unary RPC to an interceptor of the server. It must
// not be changed.
type UnaryServerInfo struct {
	// Server is the implementation of the service, as it was registered.
	Server any
	// FullMethod is "/package.Service/Method".
	FullMethod string
}

// UnaryHandler performs a unary RPC on a server: it is the next interceptor, or the method of the
// service. The error should be one of package status. Errors of package context get the code that
// fits, all others codes.Unknown.
//
// Nobody may change the reply, or memory that it refers to, after the handler has returned, also not once ctx has ended: what
// the client is slow to take is sent from there.
type UnaryHandler func(ctx context.Context, req any) (any, error)

// UnaryServerInterceptor is called for every unary RPC of a server. It is responsible for calling
// handler. What it returns is the result of the RPC.
type UnaryServerInterceptor func(ctx context.Context, req any, info *UnaryServerInfo, handler UnaryHandler) (resp any, err error)

// StreamServerInfo describes a streaming RPC to an interceptor of the server. It
// must not be changed.
type StreamServerInfo struct {
	// FullMethod is "/package.Service/Method".
	FullMethod string
	// IsClientStream says that the client may send more than one message.
	IsClientStream bool
	// IsServerStream says that the server may send more than one message.
	IsServerStream bool
}

// StreamServerInterceptor is called for every streaming RPC of a server, including those of the
// unknown-service handler. It is responsible for calling handler, with ss or a stream that wraps ss.
// What it returns is the result of the RPC.
type StreamServerInterceptor func(srv any, ss ServerStream, info *StreamServerInfo, handler StreamHandler) error

// chainUnaryServer combines interceptors into one, the first as the outermost. It returns nil if there
// are none.
func chainUnaryServer(list []UnaryServerInterceptor) UnaryServerInterceptor {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return func(ctx context.Context, req any, info *UnaryServerInfo, handler UnaryHandler) (any, error) {
		return list[0](ctx, req, info, restUnaryServer(list[1:], info, handler))
	}
}

func restUnaryServer(list []UnaryServerInterceptor, info *UnaryServerInfo, handler UnaryHandler) UnaryHandler {
	if len(list) == 0 {
		return handler
	}
	return func(ctx context.Context, req any) (any, error) {
		return list[0](ctx, req, info, restUnaryServer(list[1:], info, handler))
	}
}

// chainStreamServer is chainUnaryServer for streaming RPCs.
func chainStreamServer(list []StreamServerInterceptor) StreamServerInterceptor {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return func(srv any, ss ServerStream, info *StreamServerInfo, handler StreamHandler) error {
		return list[0](srv, ss, info, restStreamServer(list[1:], info, handler))
	}
}

func restStreamServer(list []StreamServerInterceptor, info *StreamServerInfo, handler StreamHandler) StreamHandler {
	if len(list) == 0 {
		return handler
	}
	return func(srv any, ss ServerStream) error {
		return list[0](srv, ss, info, restStreamServer(list[1:], info, handler))
	}
}
