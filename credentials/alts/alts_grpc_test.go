// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/alts/internal/altstest"
	imem "google.golang.org/grpc/internal/mem"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
)

// echo answers with what it got.
type echo struct {
	testpb.UnimplementedTestServiceServer
}

func (echo) UnaryCall(ctx context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if err := ClientAuthorizationCheck(ctx, []string{altstest.ClientAccount}); err != nil {
		return nil, err
	}
	return &testpb.SimpleResponse{Payload: req.GetPayload()}, nil
}

func (echo) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&testpb.StreamingOutputCallResponse{Payload: req.GetPayload()}); err != nil {
			return err
		}
	}
}

func TestRPCs(t *testing.T) {
	for _, maxRecord := range []int{4 << 10, 16 << 10, 1 << 20} {
		t.Run(fmt.Sprint(maxRecord), func(t *testing.T) {
			addr := startService(t, &altstest.Service{HoldPartial: maxRecord == 4<<10})
			cc, sc := clientCreds(addr), serverCreds(addr)
			cc.env.maxRecord, sc.env.maxRecord = maxRecord, maxRecord
			lis := listen(t)
			const limit = 65 << 20
			srv := grpc.NewServer(grpc.Creds(sc), grpc.MaxRecvMsgSize(limit))
			testpb.RegisterTestServiceServer(srv, echo{})
			done := make(chan error)
			go func() { done <- srv.Serve(lis) }()
			conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(cc),
				grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limit)))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				conn.Close()
				srv.Stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			client := testpb.NewTestServiceClient(conn)
			huge := 64 << 20
			if imem.Checking { // the race detector makes it slow
				huge = 4 << 20
			}
			for _, n := range []int{0, 1, 100_000, huge} {
				body := bytes.Repeat([]byte{7}, n)
				var p peer.Peer
				resp, err := client.UnaryCall(t.Context(), &testpb.SimpleRequest{Payload: &testpb.Payload{Body: body}}, grpc.Peer(&p))
				if err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if !bytes.Equal(resp.GetPayload().GetBody(), body) {
					t.Fatalf("%d bytes came back changed", n)
				}
				if info, err := AuthInfoFromPeer(&p); err != nil || info.PeerServiceAccount() != altstest.ServerAccount {
					t.Errorf("the peer: %v", err)
				}
			}
			stream, err := client.FullDuplexCall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				body := bytes.Repeat([]byte{byte(i)}, i*i*100)
				if err := stream.Send(&testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: body}}); err != nil {
					t.Fatal(err)
				}
				resp, err := stream.Recv()
				if err != nil || !bytes.Equal(resp.GetPayload().GetBody(), body) {
					t.Fatalf("message %d: %v", i, err)
				}
			}
			stream.CloseSend()
			if _, err := stream.Recv(); err != io.EOF {
				t.Error(err)
			}
		})
	}
}
