// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// server answers with its name.
type server struct {
	testpb.UnimplementedTestServiceServer
	name string
	port uint32
	grpc *grpc.Server
}

func (s *server) start(address string) error {
	lis, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.port = uint32(lis.Addr().(*net.TCPAddr).Port)
	s.grpc = grpc.NewServer()
	testpb.RegisterTestServiceServer(s.grpc, s)
	go s.grpc.Serve(lis) //nolint:errcheck // it ends with Stop
	return nil
}

// UnaryCall implements the service.
func (s *server) UnaryCall(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	return &testpb.SimpleResponse{ServerId: s.name}, nil
}
