// SPDX-License-Identifier: Apache-2.0

package stubserver_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/stubserver"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

func TestStubServer(t *testing.T) {
	s := &stubserver.StubServer{
		UnaryCallF: func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			return &testpb.SimpleResponse{Username: "me"}, nil
		},
		EmptyCallF: func(context.Context, *testpb.Empty) (*testpb.Empty, error) { return &testpb.Empty{}, nil },
	}
	if err := s.Start(nil); err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if got, err := s.Client.UnaryCall(t.Context(), &testpb.SimpleRequest{}); err != nil || got.GetUsername() != "me" {
		t.Errorf("%v, %v", got, err)
	}
	cc, err := grpc.NewClient(s.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	if _, err := testpb.NewTestServiceClient(cc).EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
		t.Error(err)
	}
}
