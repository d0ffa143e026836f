// SPDX-License-Identifier: Apache-2.0

package victim

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // as many programs do
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/grpc/attack/internal/orders"
)

type message = wrapperspb.BytesValue

// service has a method for each way in which a handler can treat its peer. Handlers of streams
// may hand them over.
func service(handOver bool) *grpc.ServiceDesc {
	s := inPlace
	if handOver && hasHandOver {
		s.Streams = handedOver
	}
	return &s
}

var inPlace = grpc.ServiceDesc{
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
		{StreamName: "Pour", Handler: sending(large), ServerStreams: true, ClientStreams: true},
		{StreamName: "Trickle", Handler: sending(tiny), ServerStreams: true, ClientStreams: true},
		{StreamName: "Keeps", Handler: keeps, ServerStreams: true, ClientStreams: true},
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

// What handlers and callers send without end.
var (
	large = &message{Value: make([]byte, 64<<10)}
	tiny  = &message{Value: make([]byte, 1)}
)

func sending(out *message) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) error {
		for {
			if err := stream.SendMsg(out); err != nil {
				return err
			}
		}
	}
}

// kept is what a program keeps of its peers' metadata, for good.
var kept struct {
	mu     sync.Mutex
	values []string
}

func keep(md metadata.MD) {
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if values := md.Get(orders.Keep); len(values) > 0 && len(kept.values) < orders.MaxKept {
		kept.values = append(kept.values, values[0])
	}
}

func keeps(_ any, stream grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	keep(md)
	return nil
}
