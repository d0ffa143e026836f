// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts/internal/altstest"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

func (echo) StreamingOutputCall(req *testpb.StreamingOutputCallRequest, stream testpb.TestService_StreamingOutputCallServer) error {
	body := make([]byte, req.GetResponseParameters()[0].GetSize())
	for {
		if err := stream.Send(&testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: body}}); err != nil {
			return err
		}
	}
}

// BenchmarkLargeMessages is a stream of 1 MiB messages, both sides in this process.
func BenchmarkLargeMessages(b *testing.B) {
	addr := startService(b, &altstest.Service{})
	b.Run("alts", func(b *testing.B) { benchmarkStream(b, clientCreds(addr), serverCreds(addr)) })
	b.Run("plaintext", func(b *testing.B) { benchmarkStream(b, insecure.NewCredentials(), insecure.NewCredentials()) })
}

func benchmarkStream(b *testing.B, cc, sc credentials.TransportCredentials) {
	lis := listen(b)
	srv := grpc.NewServer(grpc.Creds(sc))
	testpb.RegisterTestServiceServer(srv, echo{})
	done := make(chan error)
	go func() { done <- srv.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(cc))
	if err != nil {
		b.Fatal(err)
	}
	const size = 1 << 20
	ctx, cancel := context.WithCancel(b.Context())
	stream, err := testpb.NewTestServiceClient(conn).StreamingOutputCall(ctx, &testpb.StreamingOutputCallRequest{
		ResponseParameters: []*testpb.ResponseParameters{{Size: size}},
	})
	if err != nil {
		b.Fatal(err)
	}
	for range 100 {
		if _, err := stream.Recv(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(size)
	for b.Loop() {
		if _, err := stream.Recv(); err != nil {
			b.Fatal(err)
		}
	}
	cancel()
	conn.Close()
	srv.Stop()
	<-done
}
