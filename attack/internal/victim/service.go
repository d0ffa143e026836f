// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"bytes"
	"context"
	"runtime"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // as many programs do
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc/attack/internal/orders"
)

type message = wrapperspb.BytesValue

// service has a method for each way in which a handler can treat its peer.
var service = grpc.ServiceDesc{
	ServiceName: orders.Service,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		{MethodName: "Echo", Handler: unary(func(_ context.Context, in *message) (*message, error) { return in, nil })},
		{MethodName: "Large", Handler: unary(func(context.Context, *message) (*message, error) {
			return &message{Value: bytes.Repeat([]byte{1}, 1<<20)}, nil
		})},
		{MethodName: "Slow", Handler: unary(slow)},
		{MethodName: "Stuck", Handler: unary(func(context.Context, *message) (*message, error) { select {} })},
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "Deaf", Handler: deaf, ServerStreams: true, ClientStreams: true},
		{StreamName: "Asks", Handler: asks, ServerStreams: true, ClientStreams: true},
		{StreamName: "Sink", Handler: sink, ServerStreams: true, ClientStreams: true},
		{StreamName: "Pour", Handler: pour, ServerStreams: true, ClientStreams: true},
	},
}

func unary(answer func(context.Context, *message) (*message, error)) grpc.MethodHandler {
	return func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := &message{}
		if err := dec(in); err != nil {
			return nil, err
		}
		return answer(ctx, in)
	}
}

func slow(ctx context.Context, in *message) (*message, error) {
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
	return in, nil
}

func deaf(_ any, stream grpc.ServerStream) error {
	<-stream.Context().Done()
	return stream.Context().Err()
}

func asks(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	md, _ := metadata.FromIncomingContext(ctx)
	<-ctx.Done()
	runtime.KeepAlive(md)
	return ctx.Err()
}

func sink(_ any, stream grpc.ServerStream) error {
	for {
		if err := stream.RecvMsg(&message{}); err != nil {
			return nil
		}
	}
}

func pour(_ any, stream grpc.ServerStream) error {
	out := &message{Value: make([]byte, 64<<10)}
	for {
		if err := stream.SendMsg(out); err != nil {
			return err
		}
	}
}
