// SPDX-License-Identifier: Apache-2.0

package bufconn_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/test/bufconn"
)

type service struct {
	testpb.UnimplementedTestServiceServer
}

func (service) UnaryCall(_ context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	return &testpb.SimpleResponse{Payload: req.Payload}, nil
}

func (service) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil
		}
		if err := stream.Send(&testpb.StreamingOutputCallResponse{Payload: req.Payload}); err != nil {
			return err
		}
	}
}

// TestGRPC: a client and a server over buffers of several sizes, larger and smaller than the
// messages.
func TestGRPC(t *testing.T) {
	for _, size := range []int{1, 100, 64 << 10, 1 << 20} {
		lis := bufconn.Listen(size)
		server := grpc.NewServer()
		testpb.RegisterTestServiceServer(server, service{})
		served := make(chan error, 1)
		go func() { served <- server.Serve(lis) }()
		cc, err := grpc.NewClient("passthrough:///bufconn",
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, testpb.NewTestServiceClient(cc), size)
		cc.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

func exchange(t *testing.T, client testpb.TestServiceClient, size int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	payload := &testpb.Payload{Body: make([]byte, min(100_000, 1000*size))}
	if resp, err := client.UnaryCall(ctx, &testpb.SimpleRequest{Payload: payload}); err != nil || len(resp.Payload.Body) != len(payload.Body) {
		t.Errorf("size %d, unary: %v", size, err)
	}
	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := stream.Send(&testpb.StreamingOutputCallRequest{Payload: payload}); err != nil {
			t.Fatal(err)
		}
		if resp, err := stream.Recv(); err != nil || len(resp.Payload.Body) != len(payload.Body) {
			t.Errorf("size %d, stream: %v", size, err)
		}
	}
}
