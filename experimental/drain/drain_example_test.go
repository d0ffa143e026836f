// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/drain"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// clock is a service whose streams never end by themselves.
type clock struct {
	testpb.UnimplementedTestServiceServer
}

func (clock) FullDuplexCall(stream grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	if err := stream.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
		return err
	}
	select {
	case <-drain.Done(stream.Context()):
		return status.Error(codes.Unavailable, "the server is being restarted")
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

// A stream that would never end lets GracefulStop return, and tells its client why.
func Example() {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	testpb.RegisterTestServiceServer(server, clock{})
	go server.Serve(lis)

	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	stream, err := testpb.NewTestServiceClient(cc).FullDuplexCall(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		log.Fatal(err)
	}
	server.GracefulStop()
	_, err = stream.Recv()
	fmt.Println(err)
	// Output: rpc error: code = Unavailable desc = the server is being restarted
}
