// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// large is more than windows and buffers of any layer hold.
const large = 1 << 20

type duplex = grpc.BidiStreamingClient[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]

// testCalls makes RPCs of every shape.
func testCalls(t *testing.T, cc *grpc.ClientConn) {
	client := testpb.NewTestServiceClient(cc)
	for _, c := range []struct {
		name string
		call func(context.Context, *testing.T, testpb.TestServiceClient)
	}{
		{"unary", unary},
		{"large unary", largeUnary},
		{"client stream", clientStream},
		{"server stream", serverStream},
		{"ping pong", pingPong},
		{"status", endsWithStatus},
		{"metadata", echoesMetadata},
		{"cancel", cancels},
		{"deadline", missesDeadline},
		{"at once", atOnce},
	} {
		t.Run(c.name, func(t *testing.T) { c.call(testContext(t), t, client) })
	}
}

func unary(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	for range 100 {
		if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
}

func largeUnary(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	if err := call(ctx, client, large); err != nil {
		t.Fatal(err)
	}
}

// call sends and wants back size bytes.
func call(ctx context.Context, client testpb.TestServiceClient, size int) error {
	reply, err := client.UnaryCall(ctx, &testpb.SimpleRequest{ResponseSize: int32(size), Payload: zeros(size)})
	if err != nil {
		return err
	}
	if got := len(reply.GetPayload().GetBody()); got != size {
		return fmt.Errorf("%d bytes, want %d", got, size)
	}
	return nil
}

func zeros(size int) *testpb.Payload { return &testpb.Payload{Body: make([]byte, size)} }

func clientStream(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	stream, err := client.StreamingInputCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const n, size = 50, 20_000
	for range n {
		if err := stream.Send(&testpb.StreamingInputCallRequest{Payload: zeros(size)}); err != nil {
			t.Fatal(err)
		}
	}
	reply, err := stream.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.GetAggregatedPayloadSize(); got != n*size {
		t.Errorf("the server got %d bytes, want %d", got, n*size)
	}
}

func serverStream(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	const n, size = 50, 20_000
	req := &testpb.StreamingOutputCallRequest{}
	for range n {
		req.ResponseParameters = append(req.ResponseParameters, &testpb.ResponseParameters{Size: size})
	}
	stream, err := client.StreamingOutputCall(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		reply, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(reply.GetPayload().GetBody()); got != size {
			t.Fatalf("%d bytes, want %d", got, size)
		}
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("end of the stream: %v", err)
	}
}

func pingPong(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 10_000, 100_000, large} {
		exchange(t, stream, size, size)
	}
	for range 100 {
		exchange(t, stream, 10, 10)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("end of the stream: %v", err)
	}
}

func exchange(t *testing.T, stream duplex, request, reply int) {
	t.Helper()
	err := stream.Send(&testpb.StreamingOutputCallRequest{
		Payload:            zeros(request),
		ResponseParameters: []*testpb.ResponseParameters{{Size: int32(reply)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.GetPayload().GetBody()); n != reply {
		t.Fatalf("%d bytes, want %d", n, reply)
	}
}

func endsWithStatus(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	want := &testpb.EchoStatus{Code: int32(codes.DataLoss), Message: "\tön the way\n"}
	_, err := client.UnaryCall(ctx, &testpb.SimpleRequest{ResponseStatus: want})
	if s := status.Convert(err); s.Code() != codes.DataLoss || s.Message() != want.Message {
		t.Errorf("%v, want %v %q", err, codes.DataLoss, want.Message)
	}
}

func echoesMetadata(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	const initial, trailing = "x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"
	ctx = metadata.AppendToOutgoingContext(ctx, initial, "first", trailing, "\x00\xff")
	var header, trailer metadata.MD
	if _, err := client.UnaryCall(ctx, &testpb.SimpleRequest{}, grpc.Header(&header), grpc.Trailer(&trailer)); err != nil {
		t.Fatal(err)
	}
	if got := header.Get(initial); !slices.Equal(got, []string{"first"}) {
		t.Errorf("header %q", got)
	}
	if got := trailer.Get(trailing); !slices.Equal(got, []string{"\x00\xff"}) {
		t.Errorf("trailer %q", got)
	}
}

func cancels(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := openStream(ctx, t, client)
	cancel()
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("%v, want %v", err, codes.Canceled)
	}
}

func missesDeadline(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	stream, err := client.FullDuplexCall(ctx)
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v, want %v", err, codes.DeadlineExceeded)
	}
}

// atOnce makes RPCs of several sizes from many goroutines.
func atOnce(ctx context.Context, t *testing.T, client testpb.TestServiceClient) {
	var wg sync.WaitGroup
	for n := range 32 {
		wg.Go(func() {
			for _, size := range []int{0, 100, 10_000 * n} {
				if err := call(ctx, client, size); err != nil {
					t.Errorf("goroutine %d, %d bytes: %v", n, size, err)
				}
			}
		})
	}
	wg.Wait()
}
