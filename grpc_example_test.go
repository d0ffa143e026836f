// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// shouter is the service of the examples: it answers in capitals. Its interface and its client
// were generated from a .proto file, with messages whose text is in Payload.Body.
type shouter struct {
	pb.UnimplementedTestServiceServer
}

func (shouter) UnaryCall(_ context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if text(r) == "" {
		return nil, status.Error(codes.InvalidArgument, "nothing to shout")
	}
	return &pb.SimpleResponse{Payload: payload(strings.ToUpper(text(r)))}, nil
}

// StreamingOutputCall answers one request with a message for each word.
func (shouter) StreamingOutputCall(r *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	for word := range strings.FieldsSeq(text(r)) {
		if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: payload(strings.ToUpper(word))}); err != nil {
			return err
		}
	}
	return nil
}

// StreamingInputCall answers many requests with one response, when the client has sent all.
func (shouter) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	size := 0
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: int32(size)})
		}
		if err != nil {
			return err
		}
		size += len(text(r))
	}
}

// FullDuplexCall answers each request as it comes.
func (shouter) FullDuplexCall(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: payload(strings.ToUpper(text(r)))}); err != nil {
			return err
		}
	}
}

func payload(text string) *pb.Payload { return &pb.Payload{Body: []byte(text)} }

func text(m interface{ GetPayload() *pb.Payload }) string { return string(m.GetPayload().GetBody()) }

func say(text string) *pb.SimpleRequest { return &pb.SimpleRequest{Payload: payload(text)} }

// start serves shouter on a port of this machine. stop ends it.
func start(opts ...grpc.ServerOption) (target string, stop func()) {
	return startService(shouter{}, opts...)
}

func startService(service pb.TestServiceServer, opts ...grpc.ServerOption) (target string, stop func()) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer(opts...)
	pb.RegisterTestServiceServer(s, service)
	go s.Serve(lis)
	return lis.Addr().String(), s.Stop
}

// dial makes a channel without TLS, and a client of the service on it.
func dial(target string, opts ...grpc.DialOption) (client pb.TestServiceClient, stop func()) {
	cc, err := grpc.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		log.Fatal(err)
	}
	return pb.NewTestServiceClient(cc), func() { cc.Close() }
}

// within is the deadline of the examples' RPCs.
func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}

// A server and a client. Every RPC should have a deadline: without one it waits for ever.
func Example() {
	lis, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterTestServiceServer(server, shouter{})
	go server.Serve(lis)
	defer server.GracefulStop()

	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	client := pb.NewTestServiceClient(cc)

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	reply, err := client.UnaryCall(ctx, &pb.SimpleRequest{Payload: &pb.Payload{Body: []byte("hello")}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", reply.Payload.Body)
	// Output: HELLO
}

// One server may have several services; GetServiceInfo tells which.
func ExampleNewServer() {
	s := grpc.NewServer(grpc.MaxConcurrentStreams(1000), grpc.MaxRecvMsgSize(16<<20))
	defer s.Stop()
	pb.RegisterTestServiceServer(s, shouter{})
	for name, info := range s.GetServiceInfo() {
		fmt.Println(name, len(info.Methods), "methods")
	}
	// Output: grpc.testing.TestService 8 methods
}

// NewClient does not connect: the first RPC does, or Connect.
func ExampleNewClient() {
	target, stop := start()
	defer stop()
	cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	fmt.Println(cc.GetState())
	ctx, cancel := within()
	defer cancel()
	if _, err := pb.NewTestServiceClient(cc).UnaryCall(ctx, say("hi")); err != nil {
		log.Fatal(err)
	}
	fmt.Println(cc.GetState())
	// Output:
	// IDLE
	// READY
}

// One request, many responses: Recv returns io.EOF after the last.
func Example_serverStreaming() {
	target, stop := start()
	defer stop()
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel() // also ends a stream that is not read to its end

	stream, err := client.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{Payload: payload("one two")})
	if err != nil {
		log.Fatal(err)
	}
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text(r))
	}
	// Output:
	// ONE
	// TWO
}

// Many requests, one response.
func Example_clientStreaming() {
	target, stop := start()
	defer stop()
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel()

	stream, err := client.StreamingInputCall(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range []string{"some", "more"} {
		if err := stream.Send(&pb.StreamingInputCallRequest{Payload: payload(part)}); err != nil {
			break // CloseAndRecv tells why
		}
	}
	r, err := stream.CloseAndRecv()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.AggregatedPayloadSize, "bytes")
	// Output: 8 bytes
}

// Requests and responses in turn. One goroutine may send while another receives.
func Example_bidirectionalStreaming() {
	target, stop := start()
	defer stop()
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel()

	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range []string{"ping", "pong"} {
		if err := stream.Send(&pb.StreamingOutputCallRequest{Payload: payload(word)}); err != nil {
			log.Fatal(err)
		}
		r, err := stream.Recv()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text(r))
	}
	if err := stream.CloseSend(); err != nil {
		log.Fatal(err)
	}
	_, err = stream.Recv()
	fmt.Println(err)
	// Output:
	// PING
	// PONG
	// EOF
}

// The error of an RPC is a status: a code for programs, a message for people.
func Example_errors() {
	target, stop := start()
	defer stop()
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel()
	_, err := client.UnaryCall(ctx, say(""))
	fmt.Println(status.Code(err) == codes.InvalidArgument)
	fmt.Println(status.Convert(err).Message())
	// Output:
	// true
	// nothing to shout
}
