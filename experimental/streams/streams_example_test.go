// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/streams"
	pb "google.golang.org/grpc/interop/grpc_testing"
)

// watched is a service whose streams wait for news, without a goroutine each.
type watched struct {
	pb.UnimplementedTestServiceServer
	all streams.Group[streams.None, pb.StreamingOutputCallResponse]
	in  chan struct{}
}

// StreamingOutputCall returns at once; the stream goes on until it is finished.
func (w *watched) StreamingOutputCall(_ *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	s, err := streams.ServerStreaming(stream, &streams.ServerCallbacks[streams.None, pb.StreamingOutputCallResponse]{}, nil)
	if err != nil {
		return err
	}
	w.all.Add(s)
	w.in <- struct{}{}
	return nil
}

// A server tells all who watch of an event.
func Example() {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	w := &watched{in: make(chan struct{}, 1)}
	server := grpc.NewServer()
	pb.RegisterTestServiceServer(server, w)
	go server.Serve(lis)
	defer server.Stop()

	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	stream, err := pb.NewTestServiceClient(cc).StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{})
	if err != nil {
		log.Fatal(err)
	}
	<-w.in
	fmt.Println(w.all.Send(&pb.StreamingOutputCallResponse{Payload: &pb.Payload{Body: []byte("news")}}), "watch")
	r, err := stream.Recv()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(r.Payload.Body))
	// Output:
	// 1 watch
	// news
}
