// SPDX-License-Identifier: Apache-2.0

package stubserver_test

import (
	"context"
	"testing"

	"google.golang.org/grpc/internal/stubserver"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

func TestStubServer(t *testing.T) {
	s := &stubserver.StubServer{
		UnaryCallF: func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
			return &testpb.SimpleResponse{Username: "me"}, nil
		},
	}
	if err := s.Start(nil); err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	if got, err := s.Client.UnaryCall(t.Context(), &testpb.SimpleRequest{}); err != nil || got.GetUsername() != "me" {
		t.Errorf("%v, %v", got, err)
	}
}
