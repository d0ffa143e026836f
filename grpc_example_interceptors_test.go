// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A server's interceptors run in the order in which they are given, the first one outermost.
func ExampleChainUnaryInterceptor() {
	authorize := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if md, _ := metadata.FromIncomingContext(ctx); len(md["password"]) == 0 {
			return nil, status.Error(codes.Unauthenticated, "no password")
		}
		return handler(ctx, req)
	}
	report := func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		resp, err := handler(ctx, req)
		fmt.Println(info.FullMethod, status.Code(err))
		return resp, err
	}
	target, stop := start(grpc.ChainUnaryInterceptor(report, authorize))
	defer stop()
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel()
	_, _ = client.UnaryCall(ctx, say("hi"))
	_, _ = client.UnaryCall(metadata.AppendToOutgoingContext(ctx, "password", "x"), say("hi"))
	// Output:
	// /grpc.testing.TestService/UnaryCall Unauthenticated
	// /grpc.testing.TestService/UnaryCall OK
}

// countingStream counts what a handler sends.
type countingStream struct {
	grpc.ServerStream
	sent int
}

func (s *countingStream) SendMsg(m any) error {
	s.sent++
	return s.ServerStream.SendMsg(m)
}

// A stream's interceptor sees messages by wrapping the stream.
func ExampleChainStreamInterceptor() {
	count := func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		s := &countingStream{ServerStream: ss}
		err := handler(srv, s)
		fmt.Println(s.sent, "messages sent")
		return err
	}
	target, stop := start(grpc.ChainStreamInterceptor(count))
	defer stop()
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel()
	stream, err := client.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{Payload: payload("a b c")})
	if err != nil {
		log.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	// Output: 3 messages sent
}

// A client's interceptors may change the context, the request, and the options of each RPC.
func ExampleWithChainUnaryInterceptor() {
	identify := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(metadata.AppendToOutgoingContext(ctx, "request-id", "from the interceptor"), method, req, reply, cc, opts...)
	}
	target, stop := startService(echoing{})
	defer stop()
	client, done := dial(target, grpc.WithChainUnaryInterceptor(identify))
	defer done()
	ctx, cancel := within()
	defer cancel()
	r, err := client.UnaryCall(ctx, say("hi"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(r))
	// Output: from the interceptor
}

// The same for streams.
func ExampleWithChainStreamInterceptor() {
	report := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		fmt.Println(desc.StreamName, desc.ClientStreams, desc.ServerStreams)
		return open(ctx, desc, cc, method, opts...)
	}
	target, stop := start(grpc.ChainStreamInterceptor())
	defer stop()
	client, done := dial(target, grpc.WithChainStreamInterceptor(report))
	defer done()
	ctx, cancel := within()
	defer cancel()
	stream, err := client.StreamingInputCall(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		log.Fatal(err)
	}
	// Output: StreamingInputCall true false
}

// GracefulStop takes no new RPCs, and returns when those that run have ended. Stop, called
// meanwhile, ends these, too.
func ExampleServer_GracefulStop() {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer()
	pb.RegisterTestServiceServer(s, shouter{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	client, done := dial(lis.Addr().String())
	defer done()
	ctx, cancel := within()
	defer cancel()
	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := stream.Send(&pb.StreamingOutputCallRequest{Payload: payload("one")}); err != nil {
		log.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil { // the RPC runs
		log.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { s.GracefulStop(); close(stopped) }()
	if err := stream.Send(&pb.StreamingOutputCallRequest{Payload: payload("two")}); err != nil {
		log.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(r))
	_ = stream.CloseSend()
	_, _ = stream.Recv()
	<-stopped
	fmt.Println("Serve:", <-served)
	// Output:
	// TWO
	// Serve: <nil>
}

// An RPC that waits for ready is not failed while no server can be reached, but waits until its
// deadline for one.
func ExampleWaitForReady() {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	target := lis.Addr().String()
	lis.Close() // nobody is there
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel()
	_, err = client.UnaryCall(ctx, say("hi"))
	fmt.Println(status.Code(err))

	go func() {
		if lis, err := net.Listen("tcp", target); err == nil {
			s := grpc.NewServer()
			pb.RegisterTestServiceServer(s, shouter{})
			context.AfterFunc(ctx, s.Stop)
			_ = s.Serve(lis)
		}
	}()
	r, err := client.UnaryCall(ctx, say("hi"), grpc.WaitForReady(true))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(r))
	// Output:
	// Unavailable
	// HI
}

// A program can watch the state of a channel, and have it connect.
func ExampleClientConn_WaitForStateChange() {
	target, stop := start()
	defer stop()
	cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := within()
	defer cancel()
	cc.Connect()
	for s := cc.GetState(); s != connectivity.Ready; s = cc.GetState() {
		if !cc.WaitForStateChange(ctx, s) {
			log.Fatal(ctx.Err())
		}
	}
	fmt.Println(cc.GetState())
	// Output: READY
}
